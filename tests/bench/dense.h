// Linear layers of one weight, a part of the bench's `linear`.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/runtime.h>

#include <vector>

#include "bench/bench.h"

namespace diecast::tool {

// `linear` and `pack_linear` with weights of these shapes, rows and columns; some that models have
// where there are none.
Result<void> add_dense(Runtime& runtime, const std::shared_ptr<Device>& device,
                       const std::vector<BenchShape>& shapes, Figures& figures);

}  // namespace diecast::tool
