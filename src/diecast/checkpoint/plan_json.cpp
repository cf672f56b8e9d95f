// What a plan says, in words and as JSON; see plan_json.h.
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/plan_json.h>

#include <nlohmann/json.hpp>

namespace diecast {

std::vector<std::string> notes_of(const Plan& plan, const SideFiles& side_files) {
  std::vector<std::string> out = plan.notes;
  out.insert(out.end(), side_files.notes().begin(), side_files.notes().end());
  return out;
}

std::vector<std::string> names_of(const SideFiles& side_files) {
  std::vector<std::string> out;
  for (const SideFile& file : side_files.list()) out.push_back(file.name);
  return out;
}

std::map<std::size_t, std::size_t> shared_amaxes(const Plan& plan) {
  std::map<std::size_t, std::size_t> out;
  for (const std::vector<std::size_t>& group : plan.groups) {
    for (std::size_t i = 1; i < group.size(); ++i) out[group[i]] = group[0];
  }
  return out;
}

nlohmann::ordered_json plan_json(const Plan& plan, const SideFiles& side_files) {
  nlohmann::ordered_json out = {{"tensors", nlohmann::ordered_json::array()},
                                {"notes", notes_of(plan, side_files)},
                                {"side_files", names_of(side_files)},
                                {"held_bytes", held_values(plan)}};
  if (!plan.scope.empty()) out["scope"] = plan.scope;
  const auto shared = shared_amaxes(plan);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& t = plan.tensors[i];
    nlohmann::ordered_json entry = {{"name", t.name},
                                    {"dtype", stored_dtype_name(t.dtype)},
                                    {"shape", t.shape},
                                    {"action", action_name(t.action)},
                                    {"reason", t.reason}};
    if (const auto first = shared.find(i); first != shared.end())
      entry["amax_with"] = plan.tensors[first->second].name;
    out["tensors"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace diecast
