// Reading compilers' logs for habits of CUDA; see hints.h.
#include <diecast/base/text.h>
#include <diecast/compile/hints.h>
#include <diecast/template/embedded_file.h>

#include <algorithm>

namespace diecast {
namespace {

bool says(std::string_view text, std::string_view what) { return text.find(what) != text.npos; }

bool says_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::ranges::any_of(all, [text](std::string_view what) { return says(text, what); });
}

// Whether it is about a tensor argument of a debug build, which is no pointer (checked.h). g++ also
// tells the types of functions that the error is in.
bool is_about_checked(std::string_view log) {
  return std::ranges::any_of(split(log, '\n'), [](std::string_view line) {
    if (says(line, "Checked<"))
      return !says_one_of(line, {"In function", "required from", "candidate:"});
    return says(line, "does not provide a subscript operator");
  });
}

// Whether it is about arithmetic or conversions of element types that are only stored. NVRTC does
// not say which types these are.
bool is_about_small_types(std::string_view log) {
  if (says_one_of(log, {"no operator \"", "no suitable conversion function from",
                        "no suitable constructor exists to convert"}))
    return true;
  return std::ranges::any_of(split(log, '\n'), [](std::string_view line) {
    return says_one_of(line, {"diecast::bf16", "diecast::f16", "diecast::e4m3", "diecast::e5m2",
                              "diecast::e8m0"}) &&
           says_one_of(line, {"operator", "conver", " cast ", "_cast'", "assigning", "expression"});
  });
}

// The first name that nobody has declared, as g++, clang and NVRTC tell it.
std::string_view undeclared_name(std::string_view log) {
  constexpr std::pair<std::string_view, std::string_view> kAround[] = {
      {"error: '", "' was not declared"},
      {"error: '", "' has not been declared"},
      {"undeclared identifier '", "'"},
      {"unknown type name '", "'"},
      {"identifier \"", "\" is undefined"}};
  for (const std::string_view line : split(log, '\n')) {
    for (const auto& [before, behind] : kAround) {
      const std::size_t at = line.find(before);
      if (at == line.npos) continue;
      const std::string_view rest = line.substr(at + before.size());
      if (const std::size_t end = rest.find(behind); end != rest.npos) return rest.substr(0, end);
    }
  }
  return "";
}

// What to do about a name: those of device headers, and those of CUDA that diecast has otherwise.
std::string instead_of(std::string_view name) {
  if (name == "to_f32" || name == "from_f32")
    return "add #include <diecast/device/numbers/convert.h>";
  if (name == "math") return "add #include <diecast/device/math/math.h>";
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"__half2float", "to_f32(x)"},
      {"__bfloat162float", "to_f32(x)"},
      {"__float2half", "from_f32<f16>(x)"},
      {"__float2half_rn", "from_f32<f16>(x)"},
      {"__float2bfloat16", "from_f32<bf16>(x)"},
      {"__float2bfloat16_rn", "from_f32<bf16>(x)"},
      {"half", "the element type f16"},
      {"__half", "the element type f16"},
      {"nv_bfloat16", "the element type bf16"},
      {"__nv_bfloat16", "the element type bf16"},
      {"half2", "f16x2 of <diecast/device/numbers/x2.h>"},
      {"__half2", "f16x2 of <diecast/device/numbers/x2.h>"},
      {"nv_bfloat162", "bf16x2 of <diecast/device/numbers/x2.h>"},
      {"__nv_bfloat162", "bf16x2 of <diecast/device/numbers/x2.h>"},
      {"__half22float2", "to_f32(pair) of <diecast/device/numbers/x2.h>"},
      {"__bfloat1622float2", "to_f32(pair) of <diecast/device/numbers/x2.h>"},
      {"__floats2half2_rn", "x2_from_f32<f16>(x, y) of <diecast/device/numbers/x2.h>"},
      {"__floats2bfloat162_rn", "x2_from_f32<bf16>(x, y) of <diecast/device/numbers/x2.h>"},
      {"__nv_fp8_e4m3", "the element type e4m3"},
      {"__nv_fp8_e5m2", "the element type e5m2"},
      {"isnan", "x != x"},
      {"isinf", "fabsf(x) == INFINITY"},
      {"fmax", "fmaxf"},
      {"fmin", "fminf"},
      {"atomicSub", "atomicAdd of the negative"},
      {"__activemask", "the mask of the lanes that come here, 0xffffffff where all do,"},
      {"__float2int_rn", "from_f32<i32>(x) of <diecast/device/numbers/every_type.h>"}};
  for (const auto& [word, ours] : kOthers)
    if (name == word) return cat("write ", ours, " for ", name);
  std::string_view function = name;
  if (function.starts_with("__")) function.remove_prefix(2);
  if (function.ends_with("f")) function.remove_suffix(1);
  for (const std::string_view one : {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos",
                                     "tanh", "pow", "floor", "ceil", "trunc", "rint", "round"})
    if (function == one)
      return cat("write math::", one, " of <diecast/device/math/math.h> for ", name,
                 ": the same bits on every target");
  return "";
}

// Whether a line of a device header declares a function or type of this name.
bool declares(std::string_view line, std::string_view name) {
  if (line.starts_with("DIECAST_DEVICE")) return says(line, cat(" ", name, "("));
  if (line.starts_with("struct ")) return says(line, cat(" ", name, " {"));
  return line.starts_with(cat("using ", name, " ="));
}

// What to include for a name that a device header declares.
std::string header_of(std::string_view name) {
  if (name.empty()) return "";
  for (const EmbeddedFile* file = embedded_files(); file->name != nullptr; ++file) {
    const std::string_view path = file->name;
    const std::string_view text(reinterpret_cast<const char*>(file->bytes), file->size);
    if (path.starts_with("device/") &&
        std::ranges::any_of(split(text, '\n'), [&](auto line) { return declares(line, name); }))
      return cat("if ", name, " is that of a device header, add #include <diecast/", path, ">");
  }
  return "";
}

std::string hint_on_host(std::string_view log) {
  if (says_one_of(log, {"conflicting specifiers in declaration", "conflicts with 'extern'",
                        "previous 'extern' declaration"}))
    return ": dynamic shared memory is dynamic_shared<T>(), not `extern __shared__`";
  if (says(log, "frame-larger-than"))
    return ": on the host a thread that may wait for others has 48 KiB for its variables; larger "
           "arrays go into shared memory";
  if (says(log, "is of integers on the host"))
    return ": add the sums of thread blocks in their order, or leave the host out by "
           "`target sm_80+`";
  if (says(log, "poisoned"))
    return ": the host has no asm, which could read files: put it under #if !DIECAST_HOST";
  if (!undeclared_name(log).empty())  // CUDA's own functions, most often
    return "; if the name is CUDA's: the host has the device words of templates/README.md alone, "
           "so `target sm_80+`, or another way under #if DIECAST_HOST";
  return "";
}

}  // namespace

std::string hint_of(BuildKind build, const Target& target, std::string_view log) {
  if (build == BuildKind::debug && is_about_checked(log))
    return ": a debug build checks a tensor argument, which is no T* there; write x[i] for i[x], "
           "&x[i] where a function deduces T*, and each variable with an auto of its own";
  if (says(log, "has \"C\" linkage"))
    return ": CUDA has a function of the kernel's name, so give the file another";
  if (says_one_of(log, {"is not a member of 'diecast::math'", "in namespace 'diecast::math'",
                        "namespace \"diecast::math\" has no member"}))
    return ": <diecast/device/math/math.h> has all functions of math";
  if (says_one_of(log, {"call of overloaded 'min(", "call of overloaded 'max(",
                        "call to 'min' is ambiguous", "call to 'max' is ambiguous",
                        "overloaded function \"min\"", "overloaded function \"max\""}))
    return ": min and max take two numbers of one type, and a size is an i64: min(rows, i64{8})";
  const std::string_view name = undeclared_name(log);
  for (const std::string& ours : {instead_of(name), header_of(name)})
    if (!ours.empty()) return cat(": ", ours);
  if (const std::string hint = target.is_host() ? hint_on_host(log) : ""; !hint.empty())
    return hint;
  if (says(log, "uses too much shared data"))
    return ": larger arrays are dynamic shared memory: `launch shared(BYTES)` and "
           "dynamic_shared<T>()";
  if (is_about_small_types(log))
    return ": nothing converts or computes with bf16, f16 and 8-bit floats by itself: write "
           "to_f32(x), and from_f32<T>(x) of a float";
  return "";
}

}  // namespace diecast
