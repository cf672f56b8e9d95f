// A test on the host's device, which skips itself where there is none.
#pragma once

#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <memory>

namespace diecast {

class HostDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_host_device({});
    if (!opened) GTEST_SKIP() << opened.error().message();
    device_ = *std::move(opened);
  }
  std::shared_ptr<Device> device_;
};

}  // namespace diecast
