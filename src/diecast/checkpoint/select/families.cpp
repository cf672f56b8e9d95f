// Names beside names; see families.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/fused_experts.h>

#include <algorithm>

namespace diecast {

std::string_view expert_bank(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.";
  const std::size_t at = name.find(kExperts);
  if (at == name.npos) return {};
  const std::string_view rest = name.substr(at + kExperts.size());
  return parse_integer(rest.substr(0, rest.find('.'))) ? name.substr(0, at + kExperts.size() - 1)
                                                       : std::string_view();
}

Membership membership(const CheckpointHeader& header, std::string_view weight) {
  if (!weight.ends_with(kWeightSuffix)) return {};
  const std::string_view path = weight.substr(0, weight.size() - kWeightSuffix.size());
  Membership out{path.substr(0, path.rfind('.') + 1)};
  const std::string_view role = path.substr(out.module.size());
  const auto is_there = [&](std::string_view other) {
    return header.find(cat(out.module, other, kWeightSuffix)) != nullptr;
  };
  for (const ProjectionFamily& family : kProjectionFamilies) {
    if (std::ranges::count(family.roles(), role) == 0) continue;
    if (!family.beside.empty() && !is_there(family.beside)) continue;
    if (out.family == nullptr) out.family = &family;
    if (std::ranges::count_if(family.roles(), is_there) < 2) continue;
    out.family = &family;
    return out;
  }
  return out;
}

namespace {

// The nearest of the modules around a weight that has the projection of compressed attention.
std::string compressed_attention(const CheckpointHeader& header, std::string_view weight) {
  for (std::size_t dot = weight.rfind('.'); dot != weight.npos && dot > 0;
       dot = weight.rfind('.', dot - 1)) {
    const std::string_view module = weight.substr(0, dot);
    if (header.find(cat(module, ".kv_a_proj_with_mqa.weight")) != nullptr)
      return std::string(module);
  }
  return {};
}

}  // namespace

std::string unit_of(const CheckpointHeader& header, std::string_view weight) {
  for (const std::string_view bank : {expert_bank(weight), fused_bank(weight)})
    if (!bank.empty()) return std::string(bank);
  if (std::string attention = compressed_attention(header, weight); !attention.empty())
    return attention;
  const Membership of = membership(header, weight);
  if (of.family == nullptr) return std::string(weight);
  for (const std::string_view role : of.family->roles()) {
    std::string name = cat(of.module, role, kWeightSuffix);
    if (header.find(name) != nullptr) return name;
  }
  return std::string(weight);
}

}  // namespace diecast
