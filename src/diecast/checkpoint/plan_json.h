// A plan for programs: what `diecast quantize --dry-run --json` prints.
#pragma once

#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/side_files.h>

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace diecast {

// What the user should know, of the plan and of what goes along beside the weights.
std::vector<std::string> notes_of(const Plan& plan, const SideFiles& side_files);
std::vector<std::string> names_of(const SideFiles& side_files);
// Tensors that have the amax of another, with that one: the first of their group.
std::map<std::size_t, std::size_t> shared_amaxes(const Plan& plan);

nlohmann::ordered_json plan_json(const Plan& plan, const SideFiles& side_files);

}  // namespace diecast
