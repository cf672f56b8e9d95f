// Warming: resolving many specializations side by side, so that the cache has them before anybody
// needs them. No GPU and no driver is touched.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/runtime.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace diecast {

struct WarmOutcome {
  const Specialization* specialization = nullptr;
  std::optional<Resolved> resolved;
  std::optional<Error> error;  // target_not_supported: this compiler cannot build that target
};

struct WarmOptions {
  int jobs = 0;  // threads, at most 64; 0 = one a core, as far as the memory goes
  // After each one, on the thread that did it, one call at a time. What it throws is dropped.
  std::function<void(const WarmOutcome&, std::size_t done, std::size_t total)> progress;
};

// One outcome for each specialization, in their order; all are published when it returns.
std::vector<WarmOutcome> warm(Runtime& runtime, std::span<const Specialization> specializations,
                              const WarmOptions& options = {});

}  // namespace diecast
