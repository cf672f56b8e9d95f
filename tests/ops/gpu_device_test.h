// A test on a GPU, which skips itself where there is none. A fixture whose SetUp does more returns
// where this one has skipped (IsSkipped()).
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "ops/test_runtime.h"

namespace diecast {

class GpuDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto device = runtime_->default_device();
    if (!device) GTEST_SKIP() << device.error().message();
    device_ = *device;
  }
  std::shared_ptr<Runtime> runtime_ = test_runtime();
  std::shared_ptr<Device> device_;
};

}  // namespace diecast
