// The rules by which weights share an amax.
#pragma once

#include <diecast/checkpoint/plan.h>

namespace diecast {

// Fills the plan's groups with its quantized tensors, each in one, and notes what stands alone that
// might have shared.
void form_groups(Plan& plan);

}  // namespace diecast
