// Ops on a fake GPU: a runtime, a device, and memory of it for what they take and fill.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "runtime/fake_machine.h"

namespace diecast::testing {

class OnFakeGpu : public ::testing::Test {
 protected:
  OnFakeGpu() : runtime_(machine_.runtime()), device_(machine_.cuda.device()) {}

  void* memory(std::int64_t bytes) {
    return device_->allocate(static_cast<std::size_t>(bytes)).value();
  }
  void allocate(QuantizedSide& side) {
    side.data = memory(side.data_bytes);
    side.scale = memory(side.scale_bytes);
    side.amax = static_cast<float*>(memory(side.amax_count * 4));
  }

  FakeMachine machine_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Device> device_;
};

}  // namespace diecast::testing
