// The rules by which weights share an amax.
#pragma once

#include <diecast/checkpoint/plan.h>

namespace diecast {

// Fills the plan's groups with its quantized tensors, each in one, and notes which members of a
// family (select/families.h) do not fit together or lack one that other modules have.
void form_groups(const CheckpointHeader& header, Plan& plan);

}  // namespace diecast
