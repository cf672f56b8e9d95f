// The driver's functions that measurements call; see selftest_driver.h.
#include "bench/selftest_driver.h"

#include <diecast/base/text.h>

#include <utility>

namespace diecast::tool {

Result<SelftestDriver> SelftestDriver::open(const Device& device) {
  DIECAST_TRY(auto driver, Driver::shared());
  DIECAST_TRY(auto library, Library::open(driver->path()));  // it is loaded: another handle of it
  SelftestDriver out(std::move(driver), std::move(library));
#define DIECAST_FIND(name, nvidias, parameters)                                              \
  out.name = out.library_.function<cuda::name##_type>(#name);                                \
  if (out.name == nullptr) {                                                                 \
    return Error{ErrorCode::driver_unavailable, cat(out.driver_->path(), " has no ", #name), \
                 "install a driver of CUDA 12.0 or newer: this measurement needs it"};       \
  }
  DIECAST_SELFTEST_CUDA_FUNCTIONS(DIECAST_FIND)
#undef DIECAST_FIND
  cuda::Device number = 0;
  const Driver& cuda = *out.driver_;
  DIECAST_CHECK(out.check(cuda.cuDeviceGet(&number, device.properties().ordinal), "cuDeviceGet",
                          "finding the device"));
  DIECAST_CHECK(out.check(cuda.cuDevicePrimaryCtxRetain(&out.context_, number),
                          "cuDevicePrimaryCtxRetain", "taking the device's context"));
  out.current_ = std::make_unique<CurrentContext>(cuda);
  DIECAST_CHECK(out.current_->push(out.context_));
  return out;
}

Result<void> SelftestDriver::check(cuda::Result code, const char* function,
                                   const char* doing) const {
  if (code == cuda::success) return {};
  return driver_->failure(code, function, doing);
}

}  // namespace diecast::tool
