// What this driver does when code is loaded, unloaded and captured: the facts that diecast's rules
// (load before serving, capture resident code alone, never unload) stand on, measured again.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/selftest_driver.h"

namespace diecast::tool {

struct DeviceFact {
  std::string what;        // "loading on a busy GPU"
  std::string sentence;    // what was found
  bool relied_on = false;  // diecast is right only where it holds; others say why its rules are
  bool holds = true;
};

// Errors: those of building a kernel and of the device.
Result<std::vector<DeviceFact>> device_facts(Runtime& runtime, const SelftestDriver& driver,
                                             const std::shared_ptr<Device>& device);

}  // namespace diecast::tool
