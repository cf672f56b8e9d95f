// The options that decide machine code, for all compilers; and the error all of them give.
#include <diecast/base/text.h>
#include <diecast/compile/compiler.h>
#include <diecast/compile/log.h>

namespace diecast {
namespace {

std::vector<std::string> cuda_options(const Target& target, BuildKind build) {
  std::vector<std::string> options = {
      "--gpu-architecture=" + target.name(),
      "--std=c++17",
      "-default-device",
      "--fmad=false",  // a product and a sum round twice, as on the host
      // For the registers and spills in its report; it leaves a trace in the cubin's notes, so it
      // is given always.
      "--ptxas-options=-v",
  };
  if (build != BuildKind::plain) options.emplace_back("--generate-line-info");
  return options;
}

std::vector<std::string> machine_options(const Target& target) {
#if defined(__x86_64__)
  // The baseline by name: distributions configure other defaults. Without -mfma no multiplication
  // and addition can fuse.
  if (target.host_level >= 3) return {"-march=x86-64", "-mavx2", "-mno-fma"};
  return {"-march=x86-64"};
#else
  (void)target;
  return {"-march=armv8-a"};
#endif
}

}  // namespace

std::string built_sanitizer() {
#if defined(DIECAST_SANITIZER)
  return DIECAST_SANITIZER;
#else
  return {};
#endif
}

std::vector<std::string> host_options(const Target& target, const std::string& sanitizer,
                                      BuildKind build) {
  std::vector<std::string> options = {
      "-std=c++17",
      build == BuildKind::debug ? "-O1" : "-O2",
      "-fPIC",
      "-shared",
      // The bits of the result: every operation rounds by itself, as --fmad=false does on CUDA.
      "-ffp-contract=off",
      "-fno-fast-math",
      // Not the bits, only errno and exception flags that no kernel reads; loops vectorize.
      "-fno-math-errno",
      "-fno-trapping-math",
      // Kernels load vectors through pointers of another type, which CUDA allows.
      "-fno-strict-aliasing",
      "-fno-exceptions",
      "-fno-rtti",
      // Only the entry is exported, so functions of the source may be inlined.
      "-fno-semantic-interposition",
  };
  for (std::string& option : machine_options(target)) options.push_back(std::move(option));
  if (build != BuildKind::plain) options.emplace_back("-g");
  if (!sanitizer.empty()) {
    options.push_back("-fsanitize=" + sanitizer);
    options.push_back("-fno-sanitize-recover=all");
    options.push_back("-fno-omit-frame-pointer");
  }
  return options;
}

std::vector<std::string> code_options(const Target& target, BuildKind build) {
  return target.is_host() ? host_options(target, built_sanitizer(), build)
                          : cuda_options(target, build);
}

namespace {

// Whether it is about a tensor argument of a debug build, which is no pointer (checked.h). g++ also
// tells the types of functions that the error is in.
bool is_about_checked(std::string_view log) {
  for (const std::string_view line : split(log, '\n')) {
    const auto says = [&](std::string_view what) { return line.find(what) != line.npos; };
    if (says("Checked<") && !says("In function") && !says("required from") && !says("candidate:"))
      return true;
    if (says("does not provide a subscript operator") || says("cannot deduce \"auto\" type"))
      return true;
  }
  return false;
}

// What to write instead of a habit that compilers have no good word for.
std::string hint_of(BuildKind build, const Target& target, std::string_view log) {
  const auto says = [&](std::string_view what) { return log.find(what) != log.npos; };
  if (build == BuildKind::debug && is_about_checked(log))
    return ": a debug build checks a tensor argument, which is no T* there; write `auto p = x` for "
           "`auto* p = x`, x[i] for i[x], and &x[i] where a function deduces T*";
  if (says("has \"C\" linkage"))
    return ": CUDA has a function of the kernel's name, so give the file another";
  if (!target.is_host()) return "";
  if (says("conflicting specifiers in declaration") || says("conflicts with 'extern'") ||
      says("previous 'extern' declaration"))
    return ": dynamic shared memory is dynamic_shared<T>(), not `extern __shared__`";
  if (says("frame-larger-than"))
    return ": on the host a thread that may wait for others has 48 KiB for its variables; larger "
           "arrays go into shared memory";
  if (says("is of integers on the host")) return ": or leave the host out by `target sm_80+`";
  if (says("poisoned"))
    return ": the host has no asm, which could read files: put it under #if !DIECAST_HOST";
  if (says("was not declared") ||
      says("undeclared identifier"))  // CUDA's own functions, most often
    return "; if the name is CUDA's: the host has the device words of templates/README.md alone, "
           "so `target sm_80+`, or another way under #if DIECAST_HOST";
  return "";
}

}  // namespace

Result<std::string> Compiler::ptx(const Source& source, const Target& target) {
  return Error{ErrorCode::target_not_supported,
               cat(source.name, " for ", target.name(), ": there is PTX for GPUs alone"),
               "name a GPU's target, as sm_90a"};
}

Error rejected_source(const Source& source, const Target& target, std::string_view compiler,
                      std::string_view log) {
  const int line = first_error_line(log, source.name);
  return {ErrorCode::compile_failed,
          cat(source.name, " for ", target.name(), ": ", compiler, " rejected the source\n",
              clean_log(log)),
          cat("mend ", source.name,
              line > 0 ? cat(" at line ", line)
                       : " or the headers it includes, where the lines above point",
              hint_of(source.build, target, log))};
}

}  // namespace diecast
