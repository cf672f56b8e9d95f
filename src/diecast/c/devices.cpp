// diecast_close and the devices of the C interface.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/c/status.h>
#include <diecast/launch/cuda_device.h>
#include <diecast/launch/host_device.h>

#include <algorithm>

namespace diecast::c {
namespace {

template <std::size_t kSize>
void copy_text(char (&to)[kSize], std::string_view text) {
  const std::size_t count = std::min(text.size(), kSize - 1);
  std::copy_n(text.data(), count, to);
  to[count] = 0;
}

diecast_device_info info_of(const Device& device) {
  const DeviceProperties& properties = device.properties();
  diecast_device_info info{};
  copy_text(info.name, properties.name);
  copy_text(info.target, device.targets().front().name());
  info.ordinal = properties.ordinal;
  info.capability = properties.cc;
  info.multiprocessors = properties.sm_count;
  info.memory_bytes = properties.memory_bytes;
  return info;
}

}  // namespace

Result<std::shared_ptr<Device>> device_of(std::uint64_t handle, Runtime& runtime,
                                          const char* function) {
  UsedDevice used;
  DIECAST_CHECK(used.take(handle, runtime, function));
  return used.device();
}

}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_close(diecast_handle object) {
  return at_border([&] { return c::close(object); });
}

std::int32_t diecast_device_open_host(std::int32_t threads, diecast_handle* device) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(device, "diecast_device_open_host", "device"));
    HostDeviceOptions options = HostDeviceOptions::from_environment();
    if (threads != 0) options.threads = threads;
    DIECAST_TRY(auto opened, open_host_device(options));
    return open_as<DeviceObject>(device, std::move(opened));
  });
}

std::int32_t diecast_device_open_cuda(std::int32_t ordinal, diecast_handle* device) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(device, "diecast_device_open_cuda", "device"));
    DIECAST_TRY(auto opened, open_cuda_device(ordinal));
    return open_as<DeviceObject>(device, std::move(opened));
  });
}

std::int32_t diecast_cuda_device_count(std::int32_t* count) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(count, "diecast_cuda_device_count", "count"));
    DIECAST_TRY(*count, cuda_device_count());
    return {};
  });
}

std::int32_t diecast_device_info_read(diecast_handle device, diecast_device_info* info) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(info, "diecast_device_info_read", "info"));
    Used<DeviceObject> used;
    DIECAST_CHECK(used.take(device, "diecast_device_info_read"));
    const diecast_device_info told = info_of(*used->device);
    return write_structure(info, &told, sizeof told, "info");
  });
}

}  // extern "C"
