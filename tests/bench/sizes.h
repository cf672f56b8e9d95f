// What a header alone says of launching a template on a matrix.
#pragma once

#include <diecast/runtime/tuning/trial.h>

#include <optional>

#include "bench/bench.h"

namespace diecast::tool {

// The sizes of a launch on a matrix of that shape (or on as many elements; a product of that shape
// sums `depth` products an element); none for a template with sizes that only its op can make.
std::optional<RunSizes> matrix_sizes(const Specialization& one, BenchShape shape,
                                     std::int64_t depth);

}  // namespace diecast::tool
