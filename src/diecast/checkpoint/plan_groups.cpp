// Which weights are quantized under one global scale; see plan_groups.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan_groups.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/language_model.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace diecast {
namespace {

bool fit_together(const PlannedTensor& a, const PlannedTensor& b) {
  return a.shape.size() == b.shape.size() && a.matrices.matrices == b.matrices.matrices &&
         a.matrices.cols == b.matrices.cols;
}

// What alike modules are called: "self_attn." of "model.layers.0.self_attn.", "mlp.experts" of each
// of a layer's experts.
std::string_view kind_of(std::string_view module) {
  const std::string_view bank = expert_bank(module), name = bank.empty() ? module : bank;
  const auto layer = layer_part(name);
  return layer ? layer->inside : name;
}

// The families of a plan, and what is to be noted of them, counted.
class Families {
 public:
  explicit Families(Plan& plan) : plan_(plan) {}

  void add(std::size_t tensor, const Membership& of) {
    members_[{of.module, of.family}].push_back(tensor);
    for (const std::string_view role : of.family->roles()) {
      if (plan_.tensors[tensor].name == cat(of.module, role, kWeightSuffix))
        roles_[{kind_of(of.module), of.family}].insert(role);
    }
  }

  void share_all() {
    for (const auto& [key, members] : members_) share(members, {key.first, key.second});
    for (const auto& [what, seen] : alone_)
      plan_.notes.push_back(seen.second == 1 ? cat(seen.first, ": scaled without ", what)
                                             : cat(seen.second, " modules, ", seen.first,
                                                   " in the first, are scaled without ", what));
  }

 private:
  // Puts the weights of one family of one module into one group, or notes why they stand apart.
  void share(const std::vector<std::size_t>& members, const Membership& of) {
    const PlannedTensor& first = plan_.tensors[members[0]];
    for (const std::size_t i : members) {
      const PlannedTensor& other = plan_.tensors[i];
      if (fit_together(first, other)) continue;
      plan_.notes.push_back(cat(quote(first.name), " ", shape_text(first.shape), " and ",
                                quote(other.name), " ", shape_text(other.shape),
                                " do not fit together and share no scale"));
      for (const std::size_t each : members) plan_.groups.push_back({each});
      return;
    }
    plan_.groups.push_back(members);
    const auto& roles = roles_[{kind_of(of.module), of.family}];
    std::vector<std::string> present, missing;
    for (const std::string_view role : of.family->roles()) {
      const std::string name = cat(of.module, role, kWeightSuffix);
      const bool found = std::any_of(members.begin(), members.end(),
                                     [&](std::size_t i) { return plan_.tensors[i].name == name; });
      if (found) present.push_back(quote(name));
      // A role that no module of this kind has is no loss.
      if (!found && roles.contains(role)) missing.emplace_back(role);
    }
    if (missing.empty()) return;
    auto& seen = alone_[join(missing, " and ")];
    if (seen.second++ == 0) seen.first = join(present, " and ");
  }

  using Key = std::pair<std::string_view, const ProjectionFamily*>;

  Plan& plan_;
  std::map<Key, std::vector<std::size_t>> members_;                   // by module
  std::map<Key, std::set<std::string_view>> roles_;                   // by kind of module
  std::map<std::string, std::pair<std::string, std::size_t>> alone_;  // by what is missing
};

}  // namespace

void form_groups(const CheckpointHeader& header, Plan& plan) {
  Families families(plan);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& tensor = plan.tensors[i];
    if (tensor.action != Action::quantize) continue;
    const Membership of = membership(header, tensor.name);
    if (tensor.row_scaled || is_mx(tensor.form.format) || of.family == nullptr) {
      plan.groups.push_back({i});
    } else {
      families.add(i, of);
    }
  }
  families.share_all();
}

}  // namespace diecast
