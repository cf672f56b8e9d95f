// Making kernels and making them resident; see kernels.h.
#include <diecast/base/no_throw.h>
#include <diecast/runtime/ahead.h>
#include <diecast/runtime/kernels.h>

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

std::shared_ptr<Kernel> Kernels::keep(const Name& name, std::shared_ptr<Kernel> made,
                                      const Kernel* refused) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Kernel>& known = kernels_[name];
  if (known == nullptr || known.get() == refused) known = std::move(made);
  return known;
}

// Refused code is replaced once: what a compiler has just made and the device refuses is an error.
Result<bool> Kernels::load(const Name& name, std::shared_ptr<Kernel>& kernel) {
  Result<bool> loaded = kernel->preload();
  if (loaded || !is_refusal(loaded.error())) return loaded;
  ++common_.count.refused;
  common_.tell(RuntimeEvent::Kind::refused, name.artifact.spelling, loaded.error().what, 0);
  const auto again = artifacts_.resolve(kernel->specialization(), &kernel->artifact());
  if (!again) return loaded;
  DIECAST_TRY(auto made, Kernel::make(kernel->specialization(), again->artifact, name.device,
                                      tuning_.launches(kernel->specialization(), *name.device)));
  kernel = keep(name, std::move(made), kernel.get());
  return kernel->preload();
}

Result<Kernels::Made> Kernels::make(const Specialization& specialization,
                                    const std::shared_ptr<Device>& device) {
  Name name{ArtifactName::of(specialization),
            tunes_text(specialization.tmpl(), specialization.bindings()), device};
  {
    std::lock_guard lock(mutex_);
    const auto known = kernels_.find(name);
    if (known != kernels_.end()) return Made{std::move(name), known->second, false};
  }
  DIECAST_TRY(Resolved resolved, artifacts_.resolve(specialization));
  const bool fresh = resolved.origin == Resolved::Origin::compiled;
  DIECAST_TRY(auto kernel, Kernel::make(specialization, std::move(resolved.artifact), device,
                                        tuning_.launches(specialization, *device)));
  kernel = keep(name, std::move(kernel), nullptr);
  return Made{std::move(name), std::move(kernel), fresh};
}

// In a list this is what nobody does ahead: the rest of what the device does.
Result<std::shared_ptr<Kernel>> Kernels::make_resident(Made made) {
  auto& [name, kernel, fresh] = made;
  DIECAST_TRY(const bool resident, kernel->resident());
  if (resident) return std::move(kernel);
  DIECAST_CHECK(common_.allow_late(name.artifact.spelling, "not resident"));
  const auto start = Clock::now();
  DIECAST_TRY(const bool loaded, fresh ? kernel->preload() : load(name, kernel));
  if (!loaded) return std::move(kernel);
  ++common_.count.loaded;
  if (common_.options.on_event)
    common_.tell(RuntimeEvent::Kind::loaded, name.artifact.spelling,
                 name.device->properties().name + tuning_.chosen(kernel->specialization()),
                 ms_since(start));
  return std::move(kernel);
}

Result<std::shared_ptr<Kernel>> Kernels::preload(const Specialization& specialization,
                                                 const std::shared_ptr<Device>& device) {
  DIECAST_CHECK(check_device(device));
  return no_throw([&]() -> Result<std::shared_ptr<Kernel>> {
    DIECAST_TRY(auto made, make(specialization, device));
    return make_resident(std::move(made));
  });
}

Result<std::vector<std::shared_ptr<Kernel>>> Kernels::preload(
    std::span<const Specialization> specializations, const std::shared_ptr<Device>& device) {
  using Resident = std::vector<std::shared_ptr<Kernel>>;
  DIECAST_CHECK(check_device(device));
  return no_throw([&]() -> Result<Resident> {
    Ahead<Made> ahead(specializations.size(), [&](std::size_t i) {
      return no_throw([&]() -> Result<Made> {
        DIECAST_TRY(auto made, make(specializations[i], device));
        if (!common_.frozen) made.kernel->read_ahead();
        return made;
      });
    });
    Resident out;
    for (std::size_t i = 0; i < specializations.size(); ++i) {
      DIECAST_TRY(auto made, ahead.take(i));
      DIECAST_TRY(out.emplace_back(), make_resident(std::move(made)));
    }
    return out;
  });
}

}  // namespace diecast
