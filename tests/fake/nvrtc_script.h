// The fake NVRTC of the tests and how a test tells it what to do. libfake_nvrtc.so (nvrtc.cpp) has
// NVRTC's functions and reads its script from environment variables at each call, so that child
// processes follow it too. Without a script it compiles: the cubin is a valid CUDA ELF file whose
// kernels are those named in the source by `extern "C" __global__ void ... NAME(`, for the
// architecture of --gpu-architecture, its code bytes a function of source, program name and
// options.
//
//   FakeNvrtc nvrtc("12.4");                       // its own copy, with a builtins library beside
//   nvrtc.set("SLEEP_MS", "50");
//   auto compiler = open_nvrtc(nvrtc.search());    // or DIECAST_NVRTC=nvrtc.path() in a child
//   EXPECT_EQ(nvrtc.compiles().size(), 1u);
//
// Variables, each DIECAST_FAKE_NVRTC_<word>:
//   VERSION     "13.0"; set by FakeNvrtc
//   ARCHS       "80 90 100"; else what that version of NVRTC builds for
//   FAIL        "nvrtcCompileProgram=6 nvrtcGetCUBIN=11": results of calls
//   SLEEP_MS    how long a compile takes
//   ALLOCATE    bytes a compile takes and fills
//   START_BYTES bytes it takes to start
//   CRASH       set: a compile dies of signal 11
//   JOURNAL     a file; each compile appends one line at its start:
//               "pid=123 running=2 name=quantize.cu options=--gpu-architecture=sm_90a ..."
//   SYMBOL, CC  a kernel name, an architecture that the cubin has instead of the right one
//   SEED        decides the code's bytes too: a compiler that does not give the same twice
//   CUBIN_SIZE  what nvrtcGetCUBINSize says; 0: an empty cubin
//   CUBIN       "garbage": bytes that are no ELF file
//   LOG         text put before ptxas's report (on a failure: the whole log)
//   LOG_SIZE    what nvrtcGetProgramLogSize says
//   LOG_ENDLESS set: the log does not end in a null character
//   REGISTERS, SPILL, STACK, SHARED   numbers of ptxas's report; else 32, 0, 0, 0
#pragma once

#include <diecast/compile/nvrtc.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "temporary_directory.h"

namespace diecast::testing {

class FakeNvrtc {
 public:
  explicit FakeNvrtc(const std::string& version = "13.0") {
    const std::string name = "libnvrtc.so." + version.substr(0, version.find('.'));
    path_ = directory_ / name;
    std::filesystem::copy_file(DIECAST_FAKE_DIR "/libfake_nvrtc.so", path_);
    write_text(directory_ / ("libnvrtc-builtins.so." + version), "stands for the builtins");
    set("VERSION", version);
    set("JOURNAL", directory_ / "journal");
  }
  FakeNvrtc(const FakeNvrtc&) = delete;
  ~FakeNvrtc() {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }

  void set(const std::string& word, const std::string& value) {
    const std::string name = "DIECAST_FAKE_NVRTC_" + word;
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.insert(name);
  }
  void unset(const std::string& word) { ::unsetenv(("DIECAST_FAKE_NVRTC_" + word).c_str()); }

  const std::string& path() const { return path_; }  // of the library
  const std::string& directory() const { return directory_.path(); }
  NvrtcSearch search() const {
    NvrtcSearch search;
    search.path = path_;
    return search;
  }
  // The journal's lines: one for every compile of any process since this object was made.
  std::vector<std::string> compiles() const {
    std::vector<std::string> lines;
    std::ifstream journal(directory_ / "journal");
    for (std::string line; std::getline(journal, line);) lines.push_back(line);
    return lines;
  }

 private:
  TemporaryDirectory directory_;
  std::string path_;
  std::set<std::string> set_;
};

}  // namespace diecast::testing
