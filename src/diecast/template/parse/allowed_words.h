// The lists that a kernel's text is held to: see complete_source.h. Not a public header.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace diecast::allowed_words {

inline constexpr std::string_view kDirectives[] = {"define", "undef",   "if",   "ifdef",
                                                   "ifndef", "elif",    "else", "endif",
                                                   "error",  "warning", "line", "pragma"};

// A pragma's first word, and the second where the first alone says nothing.
struct Pragma {
  std::string_view first, second;
};
inline constexpr Pragma kPragmas[] = {
    {"unroll", ""},         {"nounroll", ""},         {"once", ""},
    {"pack", ""},           {"nv_diag_suppress", ""}, {"nv_diag_default", ""},
    {"nv_diag_remark", ""}, {"nv_diag_warning", ""},  {"nv_diag_error", ""},
    {"nv_diag_once", ""},   {"nv_diagnostic", ""},    {"GCC", "diagnostic"},
    {"GCC", "unroll"},      {"GCC", "ivdep"},         {"clang", "diagnostic"},
    {"clang", "loop"}};

// Operators and macros that read files, or the clock.
inline constexpr std::string_view kFiles[] = {"__has_include", "__has_include_next", "__has_embed",
                                              "__building_module", "__pragma"};
inline constexpr std::string_view kClock[] = {"__DATE__", "__TIME__", "__TIMESTAMP__"};
// Their operand is checked where it stands.
inline constexpr std::string_view kPragmaWords[] = {"_Pragma", "DIECAST_PRAGMA"};

// Names that belong to compilers and may stand in #if: none reads anything.
inline constexpr std::string_view kConditions[] = {"__CUDACC__",
                                                   "__CUDACC_RTC__",
                                                   "__CUDACC_VER_MAJOR__",
                                                   "__CUDACC_VER_MINOR__",
                                                   "__CUDACC_VER_BUILD__",
                                                   "__CUDA_ARCH__",
                                                   "__NVCC__",
                                                   "__GNUC__",
                                                   "__GNUC_MINOR__",
                                                   "__GNUC_PATCHLEVEL__",
                                                   "__clang__",
                                                   "__clang_major__",
                                                   "__clang_minor__",
                                                   "__cplusplus",
                                                   "__x86_64__",
                                                   "__aarch64__",
                                                   "__SSE4_1__",
                                                   "__AVX__",
                                                   "__AVX2__",
                                                   "__AVX512F__",
                                                   "__FMA__",
                                                   "__ARM_NEON",
                                                   "__BYTE_ORDER__",
                                                   "__ORDER_LITTLE_ENDIAN__",
                                                   "__ORDER_BIG_ENDIAN__",
                                                   "__SIZEOF_INT128__",
                                                   "__COUNTER__",
                                                   "__LINE__",
                                                   "__has_builtin",
                                                   "__has_attribute",
                                                   "__has_cpp_attribute",
                                                   "__has_feature",
                                                   "__has_extension",
                                                   "__SANITIZE_ADDRESS__",
                                                   "__SANITIZE_THREAD__",
                                                   "__OPTIMIZE__"};

inline bool listed(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// Whether a name belongs to compilers.
inline bool reserved(std::string_view word) {
  return word.starts_with("__") || (word.size() > 1 && word[0] == '_' && word[1] < 'a');
}

}  // namespace diecast::allowed_words
