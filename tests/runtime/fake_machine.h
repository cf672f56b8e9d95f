// A runtime on a machine of fakes: a scripted NVRTC, a scripted driver, a cache in a folder of its
// own. The whole line from template to launch runs without CUDA.
#pragma once

#include <diecast/runtime/runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "fake/cuda_script.h"
#include "fake/nvrtc_script.h"
#include "temporary_directory.h"

namespace diecast::testing {

class FakeMachine {
 public:
  RuntimeOptions options() {
    RuntimeOptions options;
    options.nvrtc = nvrtc.search();
    options.cache = cache.path();
    options.on_event = [this](const RuntimeEvent& event) {
      events.push_back(std::string(event_name(event.kind)));
    };
    return options;
  }
  std::shared_ptr<Runtime> runtime() { return Runtime::create(options()).value(); }

  FakeNvrtc nvrtc;
  FakeCuda cuda;
  TemporaryDirectory cache;
  std::vector<std::string> events;
};

inline constexpr char kAmax[] = "amax IN=bf16 @ sm_90a";

}  // namespace diecast::testing
