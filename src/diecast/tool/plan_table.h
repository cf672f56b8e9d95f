// A plan as users read it.
#pragma once

#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/side_files.h>

namespace diecast::tool {

// With what goes along beside the weights. Tensors that differ in numbers alone are one line
// ("layers.{0..60}"), unless the plan is wanted `whole`.
void print_plan(const Plan& plan, const SideFiles& side_files, bool whole);

}  // namespace diecast::tool
