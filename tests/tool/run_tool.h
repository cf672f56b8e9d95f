// Runs the diecast command as its users do: a process of its own, a cache of its own, a fake NVRTC,
// no GPU and no cuBLASLt.
#pragma once

#include <diecast/base/process.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "fake/nvrtc_script.h"
#include "temporary_directory.h"

namespace diecast::testing {

class ToolRun {
 public:
  explicit ToolRun(std::string program = tool())
      : program_(std::move(program)),
        environment_{"DIECAST_CACHE=" + cache_.path(),
                     "DIECAST_NVRTC=" + nvrtc.path(),
                     "DIECAST_LIBCUDA=/nonexistent/libcuda.so.1",
                     "DIECAST_CUBLASLT=/nonexistent/libcublasLt.so.13",
                     "HOME=" + folder.path(),
                     "DIECAST_FAKE_NVRTC_VERSION=13.0",
                     "LC_ALL=C"} {
    if (const char* path = std::getenv("PATH")) environment_.push_back(std::string("PATH=") + path);
  }

  ProcessResult operator()(std::vector<std::string> arguments) {
    ProcessRequest request;
    request.arguments = {program_};
    for (std::string& argument : arguments) request.arguments.push_back(std::move(argument));
    request.environment = environment_;
    return run_process(request).value();
  }
  void set(const std::string& name, const std::string& value) {
    std::erase_if(environment_,
                  [&](const std::string& text) { return text.starts_with(name + "="); });
    environment_.push_back(name + "=" + value);
  }

  static std::string tool() {
    const char* const planted = std::getenv("DIECAST_TEST_TOOL");  // planted.sh's
    return planted != nullptr ? planted : DIECAST_TOOL;
  }

  const std::string& cache_path() const { return cache_.path(); }
  const std::vector<std::string>& environment() const { return environment_; }

  FakeNvrtc nvrtc;
  TemporaryDirectory folder;

 private:
  std::string program_;
  TemporaryDirectory cache_;
  std::vector<std::string> environment_;
};

// Whether kernels can be compiled for this processor and run on it.
inline bool host_works(ToolRun& diecast) {
  return diecast({"doctor"}).output.find("yes  run on this processor") != std::string::npos;
}

inline const std::string kSource = DIECAST_SOURCE_DIR;

}  // namespace diecast::testing
