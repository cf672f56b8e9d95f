// Finding a GPU; each property is one call of the driver; the first that fails is the error.
#include <diecast/base/text.h>
#include <diecast/launch/cuda/properties.h>
#include <diecast/launch/cuda_device.h>

namespace diecast {

Result<DeviceProperties> properties_of(const Driver& driver, cuda::Device device, int ordinal) {
  DeviceProperties found;
  char name[256] = "";
  int major = 0, minor = 0, shared = 0;
  std::size_t memory = 0;
  const auto attribute = [&](int* value, int which) {
    return driver.cuDeviceGetAttribute(value, which, device);
  };
  const struct {
    const char* function;
    cuda::Result code;
  } answers[] = {
      {"cuDeviceGetName", driver.cuDeviceGetName(name, sizeof name - 1, device)},
      {"cuDeviceTotalMem", driver.cuDeviceTotalMem(&memory, device)},
      {"cuDeviceGetAttribute", attribute(&major, cuda::compute_capability_major)},
      {"cuDeviceGetAttribute", attribute(&minor, cuda::compute_capability_minor)},
      {"cuDeviceGetAttribute", attribute(&found.sm_count, cuda::multiprocessor_count)},
      {"cuDeviceGetAttribute", attribute(&shared, cuda::max_shared_memory_per_block_optin)},
      {"cuDeviceGetAttribute", attribute(&found.max_threads, cuda::max_threads_per_block)},
  };
  for (const auto& [function, code] : answers)
    if (code != cuda::success)
      return driver.failure(code, function, cat("asking for the properties of device ", ordinal));
  found.name = name;
  found.ordinal = ordinal;
  found.cc = major * 10 + minor;
  found.shared_optin = shared;
  found.memory_bytes = static_cast<std::int64_t>(memory);
  found.driver_version = driver.version();
  return found;
}

Result<cuda::Device> device_of(const Driver& driver, int ordinal) {
  DIECAST_TRY(const int count, cuda_device_count(driver));
  if (count == 0)
    return Error{
        ErrorCode::no_device,
        cat("the driver ", driver.path(), " (CUDA ", driver.version_text(), ") shows no GPU"),
        cat("check nvidia-smi -L and CUDA_VISIBLE_DEVICES, ", kUseHost)};
  if (ordinal < 0 || ordinal >= count)
    return Error{ErrorCode::no_device,
                 cat("there is no CUDA device ", ordinal, "; the driver shows ", count),
                 cat("choose a device from 0 to ", count - 1)};
  cuda::Device device = 0;
  if (const cuda::Result code = driver.cuDeviceGet(&device, ordinal); code != cuda::success)
    return driver.failure(code, "cuDeviceGet", cat("opening device ", ordinal));
  return device;
}

}  // namespace diecast
