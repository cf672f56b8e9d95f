// Which CUDA context a call on a device goes to: the calling thread's current one when it is this
// device's, else the device's primary context, retained once and current for that call only.
#pragma once

#include <diecast/launch/driver.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace diecast {

// Makes a context current for as long as it lives, then what was current before.
class CurrentContext {
 public:
  explicit CurrentContext(const Driver& driver) : driver_(driver) {}
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();
  Result<void> push(cuda::ContextHandle* context);

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

class CudaContexts {
 public:
  // `device_text` names the device in errors: "device 0 (NVIDIA H200)".
  CudaContexts(std::shared_ptr<const Driver> driver, cuda::Device device, std::string device_text)
      : driver_(std::move(driver)), device_(device), device_text_(std::move(device_text)) {}

  // Makes this device's context current while `scope` lives, if it is not already.
  Result<void> enter(CurrentContext& scope);
  // The id of the context that `enter` would leave current. Two cheap driver calls when that
  // context is the one of the last call.
  Result<std::uint64_t> id();
  // The id of a context that is alive.
  Result<std::uint64_t> id_of(cuda::ContextHandle* context) const;
  // The same of a stream's. Errors: also invalid_argument for one of another device.
  Result<std::uint64_t> id_of_streams(cuda::ContextHandle* context) const;
  // The id of the calling thread's current context, of whichever device, in one driver call; false
  // where id() must be asked. A thread that was not seen with a context is asked for it before: a
  // call that fails takes the driver a microsecond, and compute-sanitizer reports it.
  bool current_id(std::uint64_t* id) {
    if (driver_->cuCtxGetId && has_context_) [[likely]] {
      unsigned long long found = 0;
      has_context_ = driver_->cuCtxGetId(nullptr, &found) == cuda::success;
      *id = found;
      return has_context_;
    }
    return false;
  }

 private:
  Result<cuda::ContextHandle*> current() const;  // null where the thread has none
  Result<bool> current_is_ours() const;          // of a thread that has one
  Result<cuda::ContextHandle*> primary();
  cuda::Result id_of(cuda::ContextHandle* context, cuda::ContextHandle* asked,
                     unsigned long long* id) const;
  Error failure(cuda::Result code, const char* function, const char* doing) const;

  // Whether the calling thread had one when it was last seen.
  static inline constinit thread_local bool has_context_ = false;

  const std::shared_ptr<const Driver> driver_;
  const cuda::Device device_;
  const std::string device_text_;
  std::mutex primary_mutex_;
  std::atomic<cuda::ContextHandle*> primary_ = nullptr;
  // The id last seen current and on this device. Ids are never used again, so it stays true.
  std::atomic<std::uint64_t> seen_ = ~std::uint64_t{0};
};

}  // namespace diecast
