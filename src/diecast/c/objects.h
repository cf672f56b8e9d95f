// What the handles of the C interface name.
#pragma once

#include <diecast/c/handles.h>
#include <diecast/c/status.h>
#include <diecast/launch/device.h>
#include <diecast/launch/kernel.h>
#include <diecast/runtime/runtime.h>

#include <memory>
#include <utility>

namespace diecast::c {

struct RuntimeObject : Object {
  static constexpr Kind kKind = Kind::runtime;
  explicit RuntimeObject(std::shared_ptr<Runtime> it) : Object(kKind), runtime(std::move(it)) {}
  std::shared_ptr<Runtime> runtime;
};

struct DeviceObject : Object {
  static constexpr Kind kKind = Kind::device;
  explicit DeviceObject(std::shared_ptr<Device> it) : Object(kKind), device(std::move(it)) {}
  std::shared_ptr<Device> device;
};

struct KernelObject : Object {
  static constexpr Kind kKind = Kind::kernel;
  explicit KernelObject(std::shared_ptr<Kernel> it) : Object(kKind), kernel(std::move(it)) {}
  std::shared_ptr<Kernel> kernel;
};

// Opens an object and gives its handle. Errors: out_of_memory.
template <class T, class... Parts>
Result<void> open_as(std::uint64_t* handle, Parts&&... parts) {
  DIECAST_TRY(*handle, open(std::make_unique<T>(std::forward<Parts>(parts)...)));
  return {};
}

// The device of a handle, of 0 the runtime's default one, while a call uses it: nothing counts a
// handle's device as owned once more. Errors: invalid_argument, those of Runtime::default_device.
class UsedDevice {
 public:
  Result<void> take(std::uint64_t handle, Runtime& runtime, const char* function) {
    if (handle != 0) [[likely]]
      return used_.take(handle, function);
    DIECAST_TRY(default_, runtime.default_device());
    return {};
  }
  const std::shared_ptr<Device>& device() const { return default_ ? default_ : used_->device; }

 private:
  Used<DeviceObject> used_;
  std::shared_ptr<Device> default_;
};

// The same device, owned.
Result<std::shared_ptr<Device>> device_of(std::uint64_t handle, Runtime& runtime,
                                          const char* function);

// A call on a runtime at the border: `function` with diecast's own.
template <class Function>
std::int32_t with_runtime(std::uint64_t handle, const char* name, Function&& function) {
  return at_border([&]() -> Result<void> {
    Used<RuntimeObject> used;
    DIECAST_CHECK(used.take(handle, name));
    return function(*used->runtime);
  });
}

}  // namespace diecast::c
