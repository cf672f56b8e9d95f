// Which weights are quantized under one global scale; see plan_groups.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan_groups.h>

#include <algorithm>
#include <map>
#include <utility>

namespace diecast {
namespace {

// "model.layers.0.mlp." of model.layers.0.mlp.up_proj.weight, and the family of up_proj, if it has
// one.
struct Membership {
  std::string_view module;
  const ProjectionFamily* family = nullptr;
};

Membership membership(std::string_view name) {
  name.remove_suffix(kWeightSuffix.size());
  const std::size_t dot = name.rfind('.');
  Membership out{name.substr(0, dot == name.npos ? 0 : dot + 1)};
  const std::string_view role = name.substr(out.module.size());
  for (const ProjectionFamily& family : kProjectionFamilies) {
    if (std::ranges::count(family.roles(), role) != 0) out.family = &family;
  }
  return out;
}

bool fit_together(const PlannedTensor& a, const PlannedTensor& b) {
  return a.shape.size() == b.shape.size() && a.matrices.matrices == b.matrices.matrices &&
         a.matrices.cols == b.matrices.cols;
}

// Puts the weights of one family of one module into one group, or notes why they stand apart.
void share(const std::vector<std::size_t>& members, const Membership& of, Plan& plan) {
  const PlannedTensor& first = plan.tensors[members[0]];
  for (const std::size_t i : members) {
    const PlannedTensor& other = plan.tensors[i];
    if (fit_together(first, other)) continue;
    plan.notes.push_back(cat(quote(first.name), " ", shape_text(first.shape), " and ",
                             quote(other.name), " ", shape_text(other.shape),
                             " do not fit together and share no scale"));
    for (const std::size_t each : members) plan.groups.push_back({each});
    return;
  }
  plan.groups.push_back(members);
  std::vector<std::string> present, missing;
  for (const std::string_view role : of.family->roles()) {
    const std::string name = cat(of.module, role, kWeightSuffix);
    const bool found = std::any_of(members.begin(), members.end(),
                                   [&](std::size_t i) { return plan.tensors[i].name == name; });
    if (found) present.push_back(quote(name));
    if (!found) missing.emplace_back(role);
  }
  if (missing.empty()) return;
  plan.notes.push_back(cat(join(present, " and "), ": scaled without ", join(missing, " and "),
                           ", not among the quantized weights"));
}

}  // namespace

void form_groups(Plan& plan) {
  std::map<std::pair<std::string_view, const ProjectionFamily*>, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& tensor = plan.tensors[i];
    if (tensor.action != Action::quantize) continue;
    const Membership of = membership(tensor.name);
    if (tensor.row_scaled || of.family == nullptr) {
      plan.groups.push_back({i});
    } else {
      families[{of.module, of.family}].push_back(i);
    }
  }
  for (const auto& [key, members] : families) share(members, {key.first, key.second}, plan);
}

}  // namespace diecast
