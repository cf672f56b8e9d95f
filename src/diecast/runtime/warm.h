// Warming resolves many specializations side by side, so that the cache has them before anybody
// needs them. It touches no GPU and no driver.
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
  // Called after each one, on the thread that did it, one call at a time. Its exceptions are
  // dropped.
  std::function<void(const WarmOutcome&, std::size_t done, std::size_t total)> progress;
};

// Returns one outcome for each specialization, in their order. All are published when it returns.
std::vector<WarmOutcome> warm(Runtime& runtime, std::span<const Specialization> specializations,
                              const WarmOptions& options = {});

}  // namespace diecast
