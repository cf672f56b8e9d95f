// Runs diecast-bench as tests run the command, in surroundings of its own.
#pragma once

#include "tool/run_tool.h"

namespace diecast::testing {

class BenchRun : public ToolRun {
 public:
  BenchRun() : ToolRun(DIECAST_BENCH) {}
  // On a fake GPU of this compute capability.
  void use_fake_gpu(const std::string& cc = "90") {
    set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
    set("DIECAST_FAKE_CUDA_CC", cc);
  }
};

}  // namespace diecast::testing
