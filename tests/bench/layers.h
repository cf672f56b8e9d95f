// What the linear layers of a model take to compile, a part of the bench's `warm`.
#pragma once

#include "bench/bench.h"

namespace diecast::tool {

// Seconds to compile, on two cores and into an empty cache, every kernel that the linear layers of
// a transformer of 70B parameters with NVFP4 weights have on a GPU of compute capability 9.0.
Result<Figure> cold_linear_layers();

}  // namespace diecast::tool
