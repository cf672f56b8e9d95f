// From artifact to resident kernel: the half of the line that may wait for a device.
#include <diecast/base/no_throw.h>
#include <diecast/runtime/ahead.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

#include <chrono>

namespace diecast {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The machine code itself is refused, whoever loads it: damaged, or not what this device runs.
bool is_refusal(const Error& error) { return error.code == ErrorCode::file_corrupt; }

}  // namespace

std::shared_ptr<Kernel> Runtime::State::keep(const KernelName& name, std::shared_ptr<Kernel> made,
                                             const Kernel* refused) {
  std::lock_guard lock(kernels_mutex);
  std::shared_ptr<Kernel>& known = kernels[name];
  if (known == nullptr || known.get() == refused) known = std::move(made);
  return known;
}

// Refused code is replaced once: what a compiler has just made and the device refuses is an error.
Result<bool> Runtime::State::load(Runtime& runtime, const KernelName& name,
                                  std::shared_ptr<Kernel>& kernel) {
  Result<bool> loaded = kernel->preload();
  if (loaded || !is_refusal(loaded.error())) return loaded;
  ++count.refused;
  tell(RuntimeEvent::Kind::refused, name.name.spelling, loaded.error().what, 0);
  const auto again = resolve(runtime, kernel->specialization(), &kernel->artifact());
  if (!again) return loaded;
  DIECAST_TRY(auto made, Kernel::make(kernel->specialization(), again->artifact, name.device,
                                      tuned_launches(kernel->specialization(), *name.device)));
  kernel = keep(name, std::move(made), kernel.get());
  return kernel->preload();
}

Result<Runtime::State::Made> Runtime::State::make_kernel(Runtime& runtime,
                                                         const Specialization& specialization,
                                                         const std::shared_ptr<Device>& device) {
  KernelName name{Name::of(specialization),
                  tunes_text(specialization.tmpl(), specialization.bindings()), device};
  {
    std::lock_guard lock(kernels_mutex);
    const auto known = kernels.find(name);
    if (known != kernels.end()) return Made{std::move(name), known->second, false};
  }
  DIECAST_TRY(Resolved resolved, resolve(runtime, specialization, nullptr));
  const bool fresh = resolved.origin == Resolved::Origin::compiled;
  DIECAST_TRY(auto kernel, Kernel::make(specialization, std::move(resolved.artifact), device,
                                        tuned_launches(specialization, *device)));
  kernel = keep(name, std::move(kernel), nullptr);
  return Made{std::move(name), std::move(kernel), fresh};
}

// In a list this is what nobody does ahead: the rest of what the device does.
Result<std::shared_ptr<Kernel>> Runtime::State::make_resident(Runtime& runtime, Made made) {
  auto& [name, kernel, fresh] = made;
  DIECAST_TRY(const bool resident, kernel->resident());
  if (resident) return std::move(kernel);
  DIECAST_CHECK(allow_late(name.name.spelling, "not resident"));
  const auto start = Clock::now();
  DIECAST_TRY(const bool loaded, fresh ? kernel->preload() : load(runtime, name, kernel));
  if (!loaded) return std::move(kernel);
  ++count.loaded;
  if (options.on_event)
    tell(RuntimeEvent::Kind::loaded, name.name.spelling, name.device->properties().name,
         ms_since(start));
  return std::move(kernel);
}

Result<std::shared_ptr<Kernel>> Runtime::preload(const Specialization& specialization,
                                                 const std::shared_ptr<Device>& device) {
  DIECAST_CHECK(check_device(device));
  return no_throw([&]() -> Result<std::shared_ptr<Kernel>> {
    DIECAST_TRY(auto made, state_->make_kernel(*this, specialization, device));
    return state_->make_resident(*this, std::move(made));
  });
}

Result<std::vector<std::shared_ptr<Kernel>>> Runtime::preload(
    std::span<const Specialization> specializations, const std::shared_ptr<Device>& device) {
  using Kernels = std::vector<std::shared_ptr<Kernel>>;
  DIECAST_CHECK(check_device(device));
  return no_throw([&]() -> Result<Kernels> {
    Ahead<State::Made> kernels(specializations.size(), [&](std::size_t i) {
      return no_throw([&]() -> Result<State::Made> {
        DIECAST_TRY(auto made, state_->make_kernel(*this, specializations[i], device));
        if (!frozen()) made.kernel->read_ahead();
        return made;
      });
    });
    Kernels out;
    for (std::size_t i = 0; i < specializations.size(); ++i) {
      DIECAST_TRY(auto made, kernels.take(i));
      DIECAST_TRY(out.emplace_back(), state_->make_resident(*this, std::move(made)));
    }
    return out;
  });
}

}  // namespace diecast
