// See sanitized.h.
#include <diecast/base/machine.h>
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/compile/host_cxx.h>
#include <diecast/tool/command.h>
#include <diecast/tool/sanitized.h>
#include <unistd.h>

#include <cstdio>

namespace diecast::tool {
namespace {

constexpr int kEndedBySanitizer = 99;
constexpr const char* kOptions = "ASAN_OPTIONS=detect_leaks=0:exitcode=99";

// The compiler's own library, under g++'s name for it or clang's.
Result<std::string> address_sanitizer() {
  DIECAST_TRY(const auto compiler, open_host_cxx(HostCxxOptions::from_environment()));
  for (const std::string& name :
       {std::string("libasan.so"), cat("libclang_rt.asan-", kMachine, ".so")}) {
    ProcessRequest request;
    request.arguments = {compiler->path(), cat("-print-file-name=", name)};
    DIECAST_TRY(const ProcessResult told, run_process(request));
    const std::string path(trim(told.output));  // a bare name where there is none
    if (path.starts_with('/') && ::access(path.c_str(), R_OK) == 0) return path;
  }
  return Error{ErrorCode::compiler_unavailable,
               cat(compiler->path(), " has no AddressSanitizer that a program can load"),
               "install libasan of your g++, or name another compiler in DIECAST_CXX"};
}

}  // namespace

Result<int> run_sanitized(std::vector<std::string> arguments) {
  std::vector<std::string> own = {kOptions};
  if (built_sanitizer().empty()) {  // else it is in this program already
    DIECAST_TRY(const std::string library, address_sanitizer());
    own.push_back("LD_PRELOAD=" + library);
  }
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.arguments.insert(request.arguments.begin(), own_program());
  request.environment = environment_with(std::move(own));
  request.time_limit = std::chrono::hours(24);
  DIECAST_TRY(const ProcessResult result, run_process(request));
  std::fwrite(result.output.data(), 1, result.output.size(), stdout);
  std::fwrite(result.errors.data(), 1, result.errors.size(), stderr);
  return result.exit_code == kEndedBySanitizer ? 1 : result.exit_code;
}

}  // namespace diecast::tool
