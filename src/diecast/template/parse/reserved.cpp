// The list of words; see reserved.h.
#include <diecast/template/parse/reserved.h>
#include <diecast/template/value.h>

#include <algorithm>
#include <iterator>

namespace diecast {
namespace {

constexpr std::string_view kDevice[] = {"host", "cc", "sm_count", "shared_optin"};
constexpr std::string_view kFunctionNames[] = {"min", "max", "ceil_div", "align_up", "bits"};
constexpr std::string_view kNames[] = {"diecast", "expression", "dtype_id", "dynamic_shared",
                                       "main",    "std",        "NULL"};
constexpr std::string_view kLimits[] = {
    "INFINITY",  "NAN",        "FLT_MAX",   "FLT_MIN",   "FLT_EPSILON", "DBL_MAX",    "DBL_MIN",
    "INT_MAX",   "INT_MIN",    "UINT_MAX",  "LLONG_MAX", "LLONG_MIN",   "ULLONG_MAX", "DBL_EPSILON",
    "INT8_MAX",  "INT8_MIN",   "UINT8_MAX", "INT16_MAX", "INT16_MIN",   "UINT16_MAX", "INT32_MAX",
    "INT32_MIN", "UINT32_MAX", "INT64_MAX", "INT64_MIN", "UINT64_MAX"};

constexpr std::string_view kCpp[] = {"alignas",       "alignof",     "and",
                                     "and_eq",        "asm",         "auto",
                                     "bitand",        "bitor",       "bool",
                                     "break",         "case",        "catch",
                                     "char",          "char8_t",     "char16_t",
                                     "char32_t",      "class",       "compl",
                                     "concept",       "const",       "consteval",
                                     "constexpr",     "constinit",   "const_cast",
                                     "continue",      "co_await",    "co_return",
                                     "co_yield",      "decltype",    "default",
                                     "delete",        "do",          "double",
                                     "dynamic_cast",  "else",        "enum",
                                     "explicit",      "export",      "extern",
                                     "false",         "float",       "for",
                                     "friend",        "goto",        "if",
                                     "inline",        "int",         "long",
                                     "mutable",       "namespace",   "new",
                                     "noexcept",      "not",         "not_eq",
                                     "nullptr",       "operator",    "or",
                                     "or_eq",         "private",     "protected",
                                     "public",        "register",    "reinterpret_cast",
                                     "requires",      "return",      "short",
                                     "signed",        "sizeof",      "static",
                                     "static_assert", "static_cast", "struct",
                                     "switch",        "template",    "this",
                                     "thread_local",  "throw",       "true",
                                     "try",           "typedef",     "typeid",
                                     "typename",      "union",       "unsigned",
                                     "using",         "virtual",     "void",
                                     "volatile",      "wchar_t",     "while",
                                     "xor",           "xor_eq"};

template <std::size_t N>
bool contains(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace

std::string_view reserved_word(std::string_view name) {
  if (contains(kCpp, name)) return "a word of C++";
  if (contains(kDevice, name)) return "it speaks of the target or the device";
  if (contains(kFunctionNames, name)) return "a function of expressions";
  if (name == "in") return "a word of expressions";
  if (contains(kNames, name)) return "a name of the rendered source";
  if (contains(kLimits, name)) return "a limit of numbers";
  if (parse_dtype(name)) return "an element type";
  if (name.starts_with("diecast_") || name.starts_with("DIECAST_") || name.starts_with("_") ||
      name.find("__") != std::string_view::npos)
    return "such names belong to diecast and the compilers";
  return {};
}

std::string_view reserved_kernel(std::string_view name) {
  return contains(kDevice, name) ? std::string_view() : reserved_word(name);
}

std::span<const std::string_view> limits() { return kLimits; }

}  // namespace diecast
