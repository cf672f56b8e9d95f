// A runtime on a machine of fakes: a scripted NVRTC, a scripted driver, a cache in a folder of its
// own. The whole line from template to launch runs without CUDA.
#pragma once

#include <diecast/runtime/runtime.h>

#include <memory>
#include <mutex>
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
      std::lock_guard lock(events_mutex);  // publishing has a thread of its own
      events.push_back(std::string(event_name(event.kind)));
    };
    return options;
  }
  std::shared_ptr<Runtime> runtime() { return Runtime::create(options()).value(); }

  FakeNvrtc nvrtc;
  FakeCuda cuda;
  TemporaryDirectory cache;
  std::mutex events_mutex;
  std::vector<std::string> events;  // after a flush() nothing is added
};

inline constexpr char kAmax[] = "amax IN=bf16 @ sm_90a";

}  // namespace diecast::testing
