// How many GPUs the driver shows, which one is current, and opening one of them.
#include <diecast/launch/cuda_device.h>

namespace diecast {

Result<int> cuda_device_count(const Driver& driver) {
  DIECAST_CHECK(Driver::usable());
  if (!driver.has_devices()) return 0;
  int count = 0;
  const cuda::Result code = driver.cuDeviceGetCount(&count);
  if (code == cuda::success) return count;
  if (code == cuda::no_device) return 0;
  return driver.failure(code, "cuDeviceGetCount", "counting the GPUs");
}

Result<int> cuda_device_count() {
  DIECAST_TRY(const auto driver, Driver::shared());
  return cuda_device_count(*driver);
}

Result<int> current_cuda_device(const Driver& driver) {
  DIECAST_TRY(const int count, cuda_device_count(driver));
  cuda::ContextHandle* context = nullptr;
  if (count == 0 || driver.cuCtxGetCurrent(&context) != cuda::success || !context) return 0;
  cuda::Device current = 0;
  if (driver.cuCtxGetDevice(&current) != cuda::success) return 0;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cuda::Device device = 0;
    if (driver.cuDeviceGet(&device, ordinal) == cuda::success && device == current) return ordinal;
  }
  return 0;
}

Result<int> current_cuda_device() {
  DIECAST_TRY(const auto driver, Driver::shared());
  return current_cuda_device(*driver);
}

Result<std::shared_ptr<Device>> open_cuda_device(int ordinal) {
  DIECAST_TRY(auto driver, Driver::shared());
  return open_cuda_device(std::move(driver), ordinal);
}

}  // namespace diecast
