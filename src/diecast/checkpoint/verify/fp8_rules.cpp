// vLLM's loader restated; see fp8_rules.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/verify/fp8_rules.h>

#include <algorithm>
#include <array>

namespace diecast {
namespace {

constexpr std::string_view kExperts = "experts";

bool is_said(const ConfigJson& config, std::string_view key) {
  const ConfigJson* const found = member(config, key);
  return found != nullptr && !found->is_null();
}

void read_scheme(const ConfigJson& config, Fp8Config& out) {
  const std::string scheme = text_at(config, "activation_scheme");
  out.layout.static_inputs = scheme == "static";
  if (member(config, "activation_scheme") == nullptr)
    out.faults.push_back(
        {{Engine::vllm, Engine::sglang}, "the FP8 config has no \"activation_scheme\""});
  else if (scheme != "static" && scheme != "dynamic")
    out.faults.push_back({{Engine::vllm},
                          "the FP8 config's \"activation_scheme\" is neither \"static\" nor "
                          "\"dynamic\""});
}

void read_blocks(const ConfigJson& config, Fp8Config& out) {
  constexpr std::string_view kSize = "weight_block_size";
  if (!is_said(config, kSize)) return;
  out.layout.form = Fp8Form::blocks;
  const ConfigJson& size = *member(config, kSize);
  const auto is_count = [](const ConfigJson& each) {
    return each.is_number_unsigned() && each.get<std::uint64_t>() > 0;
  };
  if (!size.is_array() || size.size() != 2 || !std::ranges::all_of(size, is_count)) {
    out.faults.push_back(
        {{Engine::vllm}, "the FP8 config's \"weight_block_size\" is not two positive numbers"});
    return;
  }
  out.layout.block_rows = size[0].get<std::uint64_t>();
  out.layout.block_cols = size[1].get<std::uint64_t>();
  if (out.layout.static_inputs)
    out.faults.push_back({{Engine::vllm},
                          "the FP8 config has a \"weight_block_size\" and static inputs, which go "
                          "with one scale a matrix"});
}

}  // namespace

Result<Fp8Config> fp8_config(const ConfigJson& config) {
  for (const std::string_view other :
       {"quant_algo", "moe_quant_algo", "store_dtype", "routed_experts_quant_method"}) {
    if (is_said(config, other))
      return Error{ErrorCode::not_supported,
                   cat("the model's config says \"fp8\" and ", quote(other),
                       ", of which no rules are known"),
                   "give a folder in FP8 alone, or one that `diecast quantize` wrote"};
  }
  Fp8Config out;
  out.layout.names = Fp8Names::fp8;
  read_scheme(config, out);
  read_blocks(config, out);
  std::vector<std::string> ignore;
  add_texts(config, "ignored_layers", ignore);
  if (ignore.empty()) add_texts(config, "modules_to_not_convert", ignore);
  out.ignore = {ignore.begin(), ignore.end()};
  return out;
}

Ignored Fp8Config::ignored(const std::string& module) const {
  const std::string whole = packed_module(module);
  if (ignore.contains(module) || (!whole.empty() && ignore.contains(whole))) return Ignored::yes;
  const Ignored parts =
      parts_ignored(module, [&](const std::string& part) { return ignore.contains(part); });
  if (parts != Ignored::no) return parts;
  const std::string_view bank = expert_bank(module);
  const std::string_view name = bank.empty() ? std::string_view(module) : bank;
  const bool skipped =
      name.find(kExperts) != name.npos &&
      std::ranges::any_of(ignore, [&](const std::string& e) { return e.find(name) != e.npos; });
  return skipped ? Ignored::yes : Ignored::no;
}

bool has_own_fp8_rules(std::string_view model_type) {
  constexpr std::array<std::string_view, 4> kTypes = {"deepseek_v4", "mistral3", "bailing_moe_v3",
                                                      "bailing_hybrid"};
  return std::ranges::any_of(kTypes, [&](std::string_view t) { return model_type.starts_with(t); });
}

bool built_without_fp8(std::string_view module) {
  const std::string_view kind = kept_kind(cat(module, kWeightSuffix));
  return is_head(module) || module.ends_with(".eh_proj") || kind == kIndexerPart;
}

bool in_whole_blocks(const FoundWeights& found, const FoundWeight& weight,
                     const Fp8Layout& layout) {
  if (layout.form != Fp8Form::blocks || layout.names == Fp8Names::modelopt) return true;
  const Membership of = membership(found.named, weight.name);
  const TensorInfo& tensor = *found.named.find(weight.name);
  if (tensor.shape.size() != 2) return true;  // no matrix, which is a fault of its own
  if (of.family == nullptr || tensor.shape[0] % layout.block_rows == 0) return true;
  if (!expert_bank(weight.name).empty()) return false;
  std::string last;
  for (const std::string_view role : of.family->roles()) {
    std::string name = cat(of.module, role, kWeightSuffix);
    if (found.named.find(name) != nullptr) last = std::move(name);
  }
  return weight.name == last;
}

}  // namespace diecast
