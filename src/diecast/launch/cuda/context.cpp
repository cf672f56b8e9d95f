// Contexts by their ids: a context made where a destroyed one was has the same handle, so a handle
// says nothing about what is loaded there.
#include <diecast/base/text.h>
#include <diecast/launch/cuda/context.h>

namespace diecast {
namespace {

constexpr const char* kChoosingContext = "choosing the context of ";

}  // namespace

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

// A call that needs a context fails without one, and a call that fails takes the driver a
// microsecond; so what is current is asked first.
Result<cuda::ContextHandle*> CudaContexts::current() const {
  cuda::ContextHandle* context = nullptr;
  const cuda::Result code = driver_->cuCtxGetCurrent(&context);
  if (code == cuda::success) return context;
  return failure(code, "cuCtxGetCurrent", kChoosingContext);
}

Result<bool> CudaContexts::current_is_ours() const {
  cuda::Device device = -1;
  const cuda::Result code = driver_->cuCtxGetDevice(&device);
  if (code == cuda::success) return device == device_;
  return failure(code, "cuCtxGetDevice", kChoosingContext);
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
  DIECAST_TRY(const bool any, current());
  if (any) {
    DIECAST_TRY(const bool ours, current_is_ours());
    if (ours) return {};
  }
  DIECAST_TRY(cuda::ContextHandle * context, primary());
  return scope.push(context);
}

// Without ids a context made where a destroyed one was is taken for it. `asked` null: the current
// one, whose handle may be of a context that was destroyed meanwhile; the driver then says so.
cuda::Result CudaContexts::id_of(cuda::ContextHandle* context, cuda::ContextHandle* asked,
                                 unsigned long long* id) const {
  if (driver_->cuCtxGetId) return driver_->cuCtxGetId(asked, id);
  *id = reinterpret_cast<std::uintptr_t>(context);
  return cuda::success;
}

Result<std::uint64_t> CudaContexts::id_of(cuda::ContextHandle* context) const {
  unsigned long long id = 0;
  const cuda::Result code = id_of(context, context, &id);
  if (code == cuda::success) return std::uint64_t{id};
  return failure(code, "cuCtxGetId", kChoosingContext);
}

// A green context that another thread has current cannot be pushed: its device is then not known.
Result<std::uint64_t> CudaContexts::id_of_streams(cuda::ContextHandle* context) const {
  CurrentContext scope(*driver_);
  if (scope.push(context)) {
    DIECAST_TRY(const bool ours, current_is_ours());
    if (!ours)
      return Error{ErrorCode::invalid_argument,
                   cat("the stream is of another device than ", device_text_),
                   "prepare it by the device that it was created on"};
  }
  return id_of(context);
}

// Asked before a launch on a stream that is not prepared.
Result<std::uint64_t> CudaContexts::id() {
  DIECAST_CHECK(Driver::usable());
  cuda::ContextHandle* context = nullptr;
  if (const cuda::Result code = driver_->cuCtxGetCurrent(&context); code != cuda::success)
    return failure(code, "cuCtxGetCurrent", kChoosingContext);
  unsigned long long id = 0;
  has_context_ = context != nullptr;
  if (context) {
    if (const cuda::Result code = id_of(context, nullptr, &id); code != cuda::success)
      return failure(code, "cuCtxGetId", kChoosingContext);
    if (id == seen_.load(std::memory_order_relaxed)) return std::uint64_t{id};
    DIECAST_TRY(const bool ours, current_is_ours());
    if (ours) {
      seen_.store(id, std::memory_order_relaxed);
      return std::uint64_t{id};
    }
  }
  DIECAST_TRY(context, primary());
  return id_of(context);
}

}  // namespace diecast
