// Declares the fake driver's functions as diecast declares the real ones, and what those that put
// work on a stream share.
#pragma once

#include <utility>
#include <vector>

#include "fake/cuda_state.h"

extern "C" {
#define DECLARE(name, version, needed, parameters) diecast::cuda::name##_type name;
DIECAST_CUDA_FUNCTIONS(DECLARE)
#undef DECLARE
}

namespace diecast::testing {

// What a stream handle stands for in the current context: 0 and the stream (null: a default
// stream), or the error of a launch or copy on it.
int find_stream(cuda::StreamHandle* handle, FakeStream** stream);

// A copy or fill: checks that each range of device memory (where, bytes) was allocated and is not
// overrun; runs `action` unless it is captured.
int work(const char* function, cuda::StreamHandle* stream,
         const std::vector<std::pair<cuda::DevicePointer, std::size_t>>& ranges,
         const std::function<void()>& action);

}  // namespace diecast::testing
