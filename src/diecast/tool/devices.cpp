// Choosing a device; see devices.h.
#include <diecast/base/text.h>
#include <diecast/launch/cuda_device.h>
#include <diecast/launch/host_device.h>
#include <diecast/tool/devices.h>

namespace diecast::tool {

Result<std::shared_ptr<Device>> open_device(Runtime& runtime, const std::string& word) {
  if (word == "cuda") return runtime.default_device();
  if (word == "auto") {
    const auto count = cuda_device_count();
    if (count && *count > 0) return runtime.default_device();
  }
  return open_host_device();
}

std::string describe(Device& device) {
  const DeviceProperties& properties = device.properties();
  const std::string target = device.targets().front().name();
  if (properties.cc != 0) return cat(properties.name, " (", target, ")");
  return cat("this processor (", target, ", ", properties.sm_count,
             properties.sm_count == 1 ? " thread)" : " threads)");
}

}  // namespace diecast::tool
