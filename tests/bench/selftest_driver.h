// Functions of the CUDA driver that only measurements call: asking whether a stream has work left,
// and unloading, which the library never does (a captured graph may hold what was loaded).
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/library.h>
#include <diecast/launch/cuda/context.h>
#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

#include <memory>

namespace diecast::cuda {

inline constexpr Result not_ready = 600;  // a stream that has work left

}  // namespace diecast::cuda

// X(symbol, nvidias, parameters): `nvidias` is the declaration in cudaTypedefs.h it must equal. All
// of them are in every driver of CUDA 12.0.
#define DIECAST_SELFTEST_CUDA_FUNCTIONS(X)                       \
  X(cuStreamQuery, cuStreamQuery_v2000, (StreamHandle * stream)) \
  X(cuLibraryUnload, cuLibraryUnload_v12000, (LibraryHandle * library))

namespace diecast::cuda {

#define DIECAST_DECLARE(name, nvidias, parameters) using name##_type = Result parameters;
DIECAST_SELFTEST_CUDA_FUNCTIONS(DIECAST_DECLARE)
#undef DIECAST_DECLARE

}  // namespace diecast::cuda

namespace diecast::tool {

// The process's driver with these functions. A device's primary context is current in the thread
// that opens it, and that ends it, for as long as it lives.
class SelftestDriver {
 public:
  // Errors: those of Driver::shared(); driver_unavailable where one of the functions is missing;
  // of the driver.
  static Result<SelftestDriver> open(const Device& device);

  const Driver& driver() const { return *driver_; }
  cuda::ContextHandle* context() const { return context_; }
  Result<void> check(cuda::Result code, const char* function, const char* doing) const;

#define DIECAST_MEMBER(name, nvidias, parameters) cuda::name##_type* name = nullptr;
  DIECAST_SELFTEST_CUDA_FUNCTIONS(DIECAST_MEMBER)
#undef DIECAST_MEMBER

 private:
  explicit SelftestDriver(std::shared_ptr<const Driver> driver, Library library)
      : driver_(std::move(driver)), library_(std::move(library)) {}

  std::shared_ptr<const Driver> driver_;
  Library library_;
  cuda::ContextHandle* context_ = nullptr;
  std::unique_ptr<CurrentContext> current_;  // gone before the driver is
};

}  // namespace diecast::tool
