// THE decision, tensor by tensor: what is quantized, and why the rest is copied.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/plan.h>

namespace diecast {

// Fills the plan's tensors, and notes what a user should know of them. Errors as plan_quantize()'s.
Result<void> decide(const CheckpointHeader& header, const QuantizeOptions& options, Plan& plan);

}  // namespace diecast
