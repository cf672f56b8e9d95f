// Modules held against each other and against the config's numbers; see gaps.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/verify/gaps.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace diecast {
namespace {

using Names = std::set<std::string, std::less<>>;
using Numbers = std::set<std::uint64_t>;

// What a module that has the first cannot be without.
struct Needed {
  std::string_view there, needed;
};
constexpr Needed kNeeded[] = {{"gate_proj", "up_proj"},
                              {"gate_proj", "down_proj"},
                              {"up_proj", "down_proj"},
                              {"gate_up_proj", "down_proj"},
                              {"w3", "w1"},
                              {"w3", "w2"},
                              {"c_fc_1", "c_fc_0"},
                              {"wi_1", "wi_0"},
                              {"k_proj", "v_proj"},
                              {"v_proj", "k_proj"},
                              {"in_proj_qkv", "in_proj_z"},
                              {"in_proj_z", "in_proj_qkv"},
                              {"q_a_proj", "q_b_proj"},
                              {"q_a_proj", "kv_a_proj_with_mqa"}};

// Its "gate_proj" gates what it gives, without partners.
bool is_attention(const Names& roles) {
  return roles.contains("o_proj") || roles.contains("q_proj") || roles.contains("qkv_proj");
}

bool is_key_or_value(std::string_view role) {
  return role == "k_proj" || role == "v_proj" || role == "wk" || role == "wv";
}

// How many of the numbers from 0 to `end` are not there, and the first of them.
struct Missing {
  std::uint64_t first = 0, count = 0;
};
Missing missing_below(std::uint64_t end, const Numbers& there) {
  Missing out;
  const auto beyond = there.lower_bound(end);
  out.count = end - static_cast<std::uint64_t>(std::distance(there.begin(), beyond));
  for (auto each = there.begin(); each != beyond && *each == out.first; ++each) ++out.first;
  return out;
}

// A module without its number among experts: alike modules have one of these.
std::string path_of(const LayerPart& part, std::string_view module) {
  const std::string_view inside = module.substr(part.stack.size() + cat(part.layer).size());
  const std::string_view bank = expert_bank(module);
  if (bank.empty()) return cat(part.stack, "*", inside);
  const std::size_t end = module.find('.', bank.size() + 1);
  return cat(part.stack, "*", inside.substr(0, inside.size() - (module.size() - bank.size())), ".*",
             end == module.npos ? "" : module.substr(end));
}

class Gaps {
 public:
  Gaps(const CheckpointHeader& named, const LanguageModel& model, const ModelConfig& config)
      : config_(config) {
    for (const auto& [name, stack] : model.stacks())
      if (stack.layers) layers_[name].first = *stack.layers;
    for (const TensorInfo& tensor : named.tensors) {
      const auto part = layer_part(tensor.name);
      const auto stack = part ? layers_.find(part->stack) : layers_.end();
      if (stack == layers_.end() || model.drafts(tensor.name)) continue;
      stack->second.second.insert(part->layer);
      add(tensor, *part);
    }
  }

  std::vector<Gap> all() {
    check_layers();
    check_experts();
    for (const auto& [path, modules] : modules_) {
      for (const auto& [module, roles] : modules) check_needed(module, roles);
      check_alike(modules);
    }
    if (!gone_.empty())
      found_.push_back({cat(quote(*gone_.begin()), " is gone, and the rest of its module is there"),
                        gone_.size()});
    return std::move(found_);
  }

 private:
  using Modules = std::map<std::string, Names>;  // what each has

  void add(const TensorInfo& tensor, const LayerPart& part) {
    const std::string_view name = tensor.name;
    if (const std::string_view bank = fused_bank(name); !bank.empty()) {
      if (tensor.shape.size() < 3) return;
      add_role(part, name);
      fused_.try_emplace(std::string(bank), tensor.shape[0]);
      return;
    }
    const std::string_view kind = kept_kind(name);
    const bool counts = kind.empty() || kind == "a router";
    if (!name.ends_with(kWeightSuffix) || tensor.shape.size() != 2 || !counts) return;
    add_role(part, name.substr(0, name.size() - kWeightSuffix.size()));
    const std::string_view bank = expert_bank(name);
    if (bank.empty()) return;
    const std::string_view rest = name.substr(bank.size() + 1);
    const auto expert = parse_integer(rest.substr(0, rest.find('.'))).value();
    experts_[std::string(bank)].insert(static_cast<std::uint64_t>(expert));
  }

  // Experts are a part of the module that they stand in, too.
  void add_role(const LayerPart& part, std::string_view name) {
    const std::size_t dot = name.rfind('.');
    const std::string_view module = name.substr(0, dot);
    modules_[path_of(part, module)][std::string(module)].emplace(name.substr(dot + 1));
    const std::string_view fused = fused_bank(name);
    const std::string_view bank = fused.empty() ? expert_bank(name) : fused;
    if (!bank.empty() && bank.rfind('.') > part.stack.size()) add_role(part, bank);
  }

  void check_layers() {
    for (const auto& [stack, layers] : layers_) {
      const auto& [count, there] = layers;
      const Missing missing = missing_below(count, there);
      if (missing.count != 0)
        found_.push_back({cat(quote(cat(stack, missing.first, ".*")),
                              " has no tensor, and the config says ", count, " layers"),
                          missing.count});
    }
  }

  void check_experts() {
    std::uint64_t most = 0;
    for (const auto& [bank, there] : experts_) most = std::max(most, *there.rbegin() + 1);
    for (const auto& [bank, there] : experts_) {
      const Missing missing = missing_below(config_.experts.value_or(most), there);
      if (missing.count != 0)
        found_.push_back({cat(quote(cat(bank, ".", missing.first, ".*")), " has no weight, and ",
                              config_.experts ? "the config says " : "others have ",
                              config_.experts.value_or(most), " experts"),
                          missing.count});
    }
    for (const auto& [bank, count] : fused_)
      if (config_.experts && count != *config_.experts)
        found_.push_back(
            {cat(quote(bank), " has ", count, " experts, and the config says ", *config_.experts)});
  }

  void check_needed(const std::string& module, const Names& roles) {
    for (const auto& [there, needed] : kNeeded) {
      if (there == "gate_proj" && is_attention(roles)) continue;
      if (roles.contains(there) && !roles.contains(needed)) add_gone(module, needed);
    }
  }

  // What at least as many modules have is no special part of theirs.
  void check_alike(const Modules& modules) {
    std::map<Names, std::vector<std::string_view>> alike;
    for (const auto& [module, roles] : modules) alike[roles].push_back(module);
    for (const auto& [fewer, some] : alike)
      for (const auto& [more, others] : alike) {
        if (fewer == more || others.size() < some.size() || !std::ranges::includes(more, fewer))
          continue;
        for (const std::string_view module : some)
          for (const std::string& role : more)
            if (!fewer.contains(role)) add_gone(module, role);
      }
  }

  void add_gone(std::string_view module, std::string_view role) {
    if (!config_.shares_keys || !is_key_or_value(role)) gone_.insert(cat(module, ".", role));
  }

  const ModelConfig& config_;
  // Of each stack the config's number of layers, and those that there are.
  std::map<std::string, std::pair<std::uint64_t, Numbers>, std::less<>> layers_;
  std::map<std::string, Modules> modules_;      // by path
  std::map<std::string, Numbers> experts_;      // of each bank
  std::map<std::string, std::uint64_t> fused_;  // how many there are in one tensor
  Names gone_;
  std::vector<Gap> found_;
};

}  // namespace

std::vector<Gap> gaps_of(const CheckpointHeader& named, const LanguageModel& model,
                         const ModelConfig& config) {
  return Gaps(named, model, config).all();
}

}  // namespace diecast
