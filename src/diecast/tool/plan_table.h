// A plan as users and programs read it.
#pragma once

#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/side_files.h>

#include <nlohmann/json_fwd.hpp>

namespace diecast::tool {

// With what goes along beside the weights. Tensors that differ in numbers alone are one line
// ("layers.{0..60}"), unless the plan is wanted `whole`.
void print_plan(const Plan& plan, const SideFiles& side_files, bool whole);
nlohmann::ordered_json plan_json(const Plan& plan, const SideFiles& side_files);

}  // namespace diecast::tool
