// What tunes on the host device needs, in a cache of its own; skipped without device or compiler.
#pragma once

#include <diecast/launch/host_device.h>
#include <diecast/runtime/runtime.h>
#include <gtest/gtest.h>

#include <memory>

#include "temporary_directory.h"

namespace diecast {

class TunerOnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    RuntimeOptions options = RuntimeOptions::from_environment();
    options.cache = folder_ / "cache";
    runtime_ = Runtime::create(options).value();
    auto device = open_host_device(HostDeviceOptions::from_environment());
    const auto compiler = runtime_->compiler(Target::parse("host").value());
    if (!device || !compiler) GTEST_SKIP() << "no host device or compiler";
    device_ = *device;
  }
  testing::TemporaryDirectory folder_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Device> device_;
};

}  // namespace diecast
