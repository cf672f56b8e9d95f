// Formats by compressed-tensors' names; see config_groups.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/block_size.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/verify/config_groups.h>

#include <algorithm>
#include <map>
#include <utility>

namespace diecast {
namespace {

Error not_known(std::string_view which, std::string_view layout) {
  return {ErrorCode::not_supported,
          cat("the model's config says \"compressed-tensors\" ", quote(layout, 40), " ", which,
              ", of which no rules are known"),
          "give a folder in NVFP4, MXFP8, MXFP4 or FP8 that `diecast quantize`, ModelOpt or "
          "compressed-tensors wrote"};
}

bool is_there(const ConfigJson* found) { return found != nullptr && !found->is_null(); }

// Of 8-bit floats: one scale for a matrix, a row, or 128x128.
std::optional<LayerForm> fp8_form(const ConfigJson& group) {
  const ConfigJson* const weights = member(group, "weights");
  if (weights == nullptr || text_at(*weights, "type") != "float") return std::nullopt;
  const ConfigJson* const bits = member(*weights, "num_bits");
  if (bits == nullptr || *bits != 8) return std::nullopt;
  Fp8Layout out{Fp8Form::tensor, Fp8Names::compressed_tensors, false};
  const std::string strategy = text_at(*weights, "strategy");
  if (strategy == "channel") {
    out.form = Fp8Form::rows;
  } else if (strategy == "block") {
    const ConfigJson* const block = member(*weights, "block_structure");
    if (block == nullptr || block_size(*block) != BlockSize{128, 128}) return std::nullopt;
    out.form = Fp8Form::blocks;
  } else if (strategy != "tensor") {
    return std::nullopt;
  }
  if (const ConfigJson* const inputs = member(group, "input_activations"); is_there(inputs)) {
    const ConfigJson* const dynamic = member(*inputs, "dynamic");
    out.static_inputs = dynamic == nullptr || *dynamic == false;
  }
  return LayerForm{WeightFormat::nvfp4, out};
}

std::optional<LayerForm> form_in(const ConfigJson& group, const std::string& layout) {
  if (layout == "nvfp4-pack-quantized") {
    const bool inputs = is_there(member(group, "input_activations"));
    return LayerForm{inputs ? WeightFormat::nvfp4 : WeightFormat::nvfp4_w4a16, {}};
  }
  if (layout == "mxfp8-quantized") return LayerForm{WeightFormat::mxfp8, {}};
  if (layout == "mxfp4-pack-quantized") return LayerForm{WeightFormat::mxfp4, {}};
  return layout == "float-quantized" ? fp8_form(group) : std::nullopt;
}

constexpr char kClass[] = "Linear";

std::optional<LayerForm> by_target(const std::vector<ConfigGroup>& groups,
                                   const std::string& name) {
  const auto found = std::ranges::find_if(
      groups, [&](const ConfigGroup& group) { return group.targets.match(name); });
  return found == groups.end() ? std::nullopt : std::optional(found->form);
}

// Of these names together; empty where no target names any of them.
std::set<std::optional<LayerForm>> by_names(const std::vector<ConfigGroup>& groups,
                                            const std::vector<std::string>& names) {
  std::set<std::optional<LayerForm>> out;
  bool any = false;
  for (const std::string& name : names) {
    const std::optional<LayerForm> named = by_target(groups, name);
    any = any || named;
    out.insert(named ? named : by_target(groups, kClass));
  }
  return any ? out : std::set<std::optional<LayerForm>>();
}

// What a module may be made of: names of each way.
std::vector<std::vector<std::string>> made_of(const std::string& module) {
  constexpr std::string_view kBank = ".experts";
  if (module.ends_with(kBank))
    return {{module + ".0.gate_proj", module + ".0.up_proj", module + ".0.down_proj"},
            {module + ".0.w1", module + ".0.w2", module + ".0.w3"}};
  std::vector<std::vector<std::string>> out = {{module}};
  const std::size_t parent = module.rfind('.') + 1;
  for (const ProjectionFamily& family : kProjectionFamilies) {
    if (family.fused.empty() || family.fused != std::string_view(module).substr(parent)) continue;
    std::vector<std::string>& parts = out.emplace_back();
    for (const std::string_view role : family.roles())
      parts.push_back(cat(module.substr(0, parent), role));
  }
  return out;
}

// Targets in the order in which they are first named, each with the form of the last group that
// names it.
class Targets {
 public:
  void set(const std::string& target, const LayerForm& form) {
    const auto [at, is_new] = places_.try_emplace(target, forms_.size());
    if (is_new)
      forms_.emplace_back(target, form);
    else
      forms_[at->second].second = form;
  }

  // Neighbours of one form are a group.
  Result<std::vector<ConfigGroup>> groups() const {
    std::vector<ConfigGroup> out;
    for (const auto& [target, form] : forms_) {
      if (out.empty() || out.back().form != form) out.push_back({form, {}});
      DIECAST_CHECK(out.back().targets.add(target));
    }
    return out;
  }

 private:
  std::vector<std::pair<std::string, LayerForm>> forms_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace

Result<std::vector<ConfigGroup>> config_groups(const ConfigJson& config) {
  Targets targets;
  const std::string whole = text_at(config, "format");
  const ConfigJson* const groups = member(config, "config_groups");
  if (groups == nullptr || !groups->is_object()) return not_known("without groups", whole);
  for (const auto& [name, group] : groups->items()) {
    std::vector<std::string> own_targets;
    add_texts(group, "targets", own_targets);
    if (own_targets.size() == 1 && own_targets[0].ends_with("Attention")) continue;
    const std::string own = text_at(group, "format");
    const std::string& layout = own.empty() ? whole : own;
    const std::optional<LayerForm> form = form_in(group, layout);
    if (!form) return not_known(cat("in its group ", quote(name, 40)), layout);
    for (const std::string& target : own_targets) targets.set(target, *form);
  }
  DIECAST_TRY(std::vector<ConfigGroup> out, targets.groups());
  if (out.empty()) return not_known("without groups", whole);
  return out;
}

std::set<std::optional<LayerForm>> forms_by_groups(const std::vector<ConfigGroup>& groups,
                                                   const std::string& module) {
  for (const std::vector<std::string>& names : made_of(module))
    if (auto found = by_names(groups, names); !found.empty()) return found;
  return {by_target(groups, kClass)};
}

}  // namespace diecast
