// The tensors that one of a plan becomes. Internal to plans.
#pragma once

#include <diecast/checkpoint/plan.h>

#include <vector>

namespace diecast {

// Without their places. Of a quantized weight first its codes, then its block scales; in NVFP4 then
// its global scale and, unless engines leave activations alone, the scale of its inputs.
std::vector<TensorInfo> outputs_of(const PlannedTensor& tensor);

}  // namespace diecast
