// The options that decide machine code, for all compilers; and the error all of them give.
#include <diecast/base/text.h>
#include <diecast/compile/compiler.h>
#include <diecast/compile/hints.h>
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
      // Not the bits, only errno, which no kernel reads. -fno-trapping-math would be of the bits:
      // GCC then makes of (float)(int)x a truncation, and -0.5 becomes -0 instead of 0.
      "-fno-math-errno",
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
