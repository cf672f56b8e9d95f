// The CUDA devices of a runtime, each opened once.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/launch/device.h>

#include <map>
#include <memory>

namespace diecast {

class Devices {
 public:
  // As Runtime::default_device().
  Result<std::shared_ptr<Device>> current();

 private:
  LongMutex mutex_;  // held while the driver is opened; CUDA does not work in a forked child
  std::map<int, std::shared_ptr<Device>> cuda_;  // by ordinal
};

}  // namespace diecast
