// Contexts by their ids: a context made where a destroyed one was has the same handle, so a handle
// says nothing about what is loaded there.
#include <diecast/base/text.h>
#include <diecast/launch/cuda/context.h>

namespace diecast {

CurrentContext::~CurrentContext() {
  cuda::ContextHandle* popped = nullptr;
  if (pushed_) driver_.cuCtxPopCurrent(&popped);
}

Result<void> CurrentContext::push(cuda::ContextHandle* context) {
  const cuda::Result code = driver_.cuCtxPushCurrent(context);
  if (code != cuda::success)
    return driver_.failure(code, "cuCtxPushCurrent", "making the device's context current");
  pushed_ = true;
  return {};
}

Error CudaContexts::failure(cuda::Result code, const char* function, const char* doing) const {
  return driver_->failure(code, function, cat(doing, device_text_));
}

Result<bool> CudaContexts::current_is_ours() const {
  cuda::Device current = -1;
  const cuda::Result code = driver_->cuCtxGetDevice(&current);
  if (code == cuda::success) return current == device_;
  if (code == cuda::invalid_context) return false;  // none is current
  return failure(code, "cuCtxGetDevice", "choosing the context of ");
}

Result<cuda::ContextHandle*> CudaContexts::primary() {
  if (cuda::ContextHandle* context = primary_.load(std::memory_order_acquire)) return context;
  std::lock_guard lock(primary_mutex_);
  cuda::ContextHandle* context = primary_.load(std::memory_order_relaxed);
  if (context) return context;
  const cuda::Result code = driver_->cuDevicePrimaryCtxRetain(&context, device_);
  if (code != cuda::success) return failure(code, "cuDevicePrimaryCtxRetain", "starting CUDA on ");
  primary_.store(context, std::memory_order_release);
  return context;
}

Result<void> CudaContexts::enter(CurrentContext& scope) {
  DIECAST_CHECK(Driver::usable());
  DIECAST_TRY(const bool ours, current_is_ours());
  if (ours) return {};
  DIECAST_TRY(cuda::ContextHandle * context, primary());
  return scope.push(context);
}

// `context` null: the current one.
Result<std::uint64_t> CudaContexts::id_of(cuda::ContextHandle* context) const {
  unsigned long long id = 0;
  cuda::Result code = cuda::success;
  if (driver_->cuCtxGetId) {
    code = driver_->cuCtxGetId(context, &id);
    if (code == cuda::success) return id;
    return failure(code, "cuCtxGetId", "choosing the context of ");
  }
  // Without ids a context made where a destroyed one was is taken for it.
  if (!context) code = driver_->cuCtxGetCurrent(&context);
  if (code == cuda::success) return reinterpret_cast<std::uintptr_t>(context);
  return failure(code, "cuCtxGetCurrent", "choosing the context of ");
}

Result<std::uint64_t> CudaContexts::id() {
  DIECAST_CHECK(Driver::usable());
  unsigned long long id = 0;
  if (driver_->cuCtxGetId && driver_->cuCtxGetId(nullptr, &id) == cuda::success &&
      id == seen_.load(std::memory_order_relaxed))
    return id;
  DIECAST_TRY(const bool ours, current_is_ours());
  if (!ours) {
    DIECAST_TRY(cuda::ContextHandle * context, primary());
    return id_of(context);
  }
  DIECAST_TRY(const std::uint64_t current, id_of(nullptr));
  seen_.store(current, std::memory_order_relaxed);
  return current;
}

}  // namespace diecast
