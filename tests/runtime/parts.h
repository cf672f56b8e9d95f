// The parts of a runtime by themselves, put together as a runtime does it.
#pragma once

#include <diecast/runtime/devices.h>
#include <diecast/runtime/kernels.h>

#include <utility>

namespace diecast::testing {

struct Parts {
  explicit Parts(RuntimeOptions options) : common(std::move(options)) {
    templates.open().value();
    cache.open().value();
  }

  Common common;
  Templates templates{common};
  Compilers compilers{common.options};
  ArtifactCache cache{common};
  Artifacts artifacts{common, templates, compilers, cache};
  Tuning tuning{common};
  Kernels kernels{common, artifacts, tuning};
};

}  // namespace diecast::testing
