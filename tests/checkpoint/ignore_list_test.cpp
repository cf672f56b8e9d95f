// The list that a config has for engines, held against how two of them match it. Both rules are
// written down here again: is_layer_excluded of vLLM's ModelOptQuantConfigBase, and of SGLang's
// ModelOptQuantConfig with is_layer_skipped.
#include <checkpoint/models/model_plan.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/ignore_list.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace diecast::testing {
namespace {

using Names = std::vector<std::string>;

bool matches(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

// What vLLM makes of several modules, and of which.
const std::map<std::string, Names> kPacked = {{"qkv_proj", {"q_proj", "k_proj", "v_proj"}},
                                              {"gate_up_proj", {"gate_proj", "up_proj"}},
                                              {"in_proj_qkvz", {"in_proj_qkv", "in_proj_z"}},
                                              {"in_proj_ba", {"in_proj_b", "in_proj_a"}}};

enum class Taken { no, yes, error };

Taken vllm_ignores(const Names& list, const std::string& prefix) {
  const std::size_t last = prefix.rfind('.') + 1;
  if (const auto packed = kPacked.find(prefix.substr(last)); packed != kPacked.end()) {
    const auto listed = [&](const std::string& part) {
      return std::ranges::count(list, prefix.substr(0, last) + part) != 0;
    };
    const auto count = std::ranges::count_if(packed->second, listed);
    if (count == static_cast<std::ptrdiff_t>(packed->second.size())) return Taken::yes;
    if (count != 0) return Taken::error;
  }
  for (const std::string& entry : list) {
    if (entry == prefix || prefix.find(entry) != prefix.npos || matches(entry, prefix))
      return Taken::yes;
    const bool experts = prefix.ends_with("experts") && entry.find("experts") != entry.npos;
    if (experts && entry.find(prefix) != entry.npos) return Taken::yes;
  }
  return Taken::no;
}

bool stands_in(const std::string& entry, const std::string& prefix) {
  return cat(".", prefix, ".").find(cat(".", entry, ".")) != std::string::npos;
}

Taken sglang_ignores(const Names& list, const std::string& prefix) {
  const auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  const auto skipped = [&](const std::string& name) {
    return std::ranges::any_of(list, [&](const std::string& e) { return stands_in(e, name); });
  };
  if (const auto packed = kPacked.find(last(prefix)); packed != kPacked.end()) {
    const std::string parent = prefix.substr(0, prefix.size() - last(prefix).size());
    const auto count = std::ranges::count_if(
        packed->second, [&](const std::string& part) { return skipped(parent + part); });
    if (count == static_cast<std::ptrdiff_t>(packed->second.size())) return Taken::yes;
    if (count != 0) return Taken::error;
  } else if (!prefix.ends_with(".experts") && skipped(prefix)) {
    return Taken::yes;
  }
  for (const std::string& entry : list) {
    if (matches(entry, prefix)) return Taken::yes;
    for (const std::string_view part : split(prefix, '.'))
      if (matches(entry, std::string(part))) return Taken::yes;
    for (const std::string mla : {"q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"})
      if (last(entry) == mla && last(prefix).find(mla) != prefix.npos) return Taken::yes;
  }
  return Taken::no;
}

void expect_both_read(const Plan& plan) {
  const EngineModules modules = engine_modules(plan);
  const Names list = ignore_list(modules);
  for (const auto& [names, want] :
       {std::pair{modules.quantized, Taken::no}, std::pair{modules.others, Taken::yes}}) {
    for (const std::string& name : names) {
      EXPECT_EQ(vllm_ignores(list, name), want) << "vLLM: " << name << " by " << join(list, " ");
      EXPECT_EQ(sglang_ignores(list, name), want)
          << "SGLang: " << name << " by " << join(list, " ");
    }
  }
  for (const std::string& entry : list) {
    const std::size_t inner = entry.find('*', 1);
    EXPECT_TRUE(inner == entry.npos || entry.ends_with(".*")) << entry;
    EXPECT_TRUE(!entry.starts_with('*') || entry.starts_with("*.")) << entry;
  }
}

TEST(IgnoreList, IsReadAlikeByBothEnginesForEveryModel) {
  int seen = 0;
  for (const ModelFolder& folder : model_folders()) {
    if (!folder.refused.empty()) continue;
    SCOPED_TRACE(folder.name);
    for (const Names& keep :
         {Names{}, Names{"*attn*", "*attention*"}, Names{"*.mlp.*"}, Names{"*.experts.*"},
          Names{"*.0.*"}, Names{"*.1.*"}, Names{"*.0.*q*_proj*"}, Names{"*.o_proj.*"}}) {
      QuantizeOptions options;
      options.keep = keep;
      const auto plan = model_plan(folder, options);
      if (!plan) continue;  // nothing is left
      ++seen;
      expect_both_read(*plan);
    }
  }
  EXPECT_GT(seen, 400);
}

// What the restated rules must tell.
TEST(IgnoreList, OfOtherFormsWouldBeReadWrongly) {
  EXPECT_EQ(vllm_ignores({"model.layers.1.mlp.gate"}, "model.layers.1.mlp.gate_up_proj"),
            Taken::yes);
  EXPECT_EQ(vllm_ignores({"a.q_proj"}, "a.qkv_proj"), Taken::error);
  EXPECT_EQ(vllm_ignores({"*.q_proj"}, "a.qkv_proj"), Taken::no);
  EXPECT_EQ(vllm_ignores({"model.layers.1*"}, "model.layers.10.o_proj"), Taken::yes);
  EXPECT_EQ(
      sglang_ignores({"model.layers.0.self_attn.q_b_proj"}, "model.layers.7.self_attn.q_b_proj"),
      Taken::yes);
  EXPECT_EQ(sglang_ignores({"*.kv_a_proj_with_mqa"},
                           "model.layers.7.self_attn.fused_qkv_a_proj_with_mqa"),
            Taken::yes);
  EXPECT_EQ(sglang_ignores({"a.q_proj"}, "a.qkv_proj"), Taken::error);
  EXPECT_EQ(sglang_ignores({"mlp"}, "model.layers.0.mlp.experts"), Taken::yes);
}

constexpr std::string_view kDeepSeek = R"(
    model.embed_tokens.weight [256,64]
    model.layers.{0..61}.self_attn.{q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj}.weight [64,64]
    model.layers.{0..61}.self_attn.o_proj.weight [64,64]
    model.layers.{0..2}.mlp.{gate,up,down}_proj.weight [64,64]
    model.layers.{3..61}.mlp.gate.weight [2,64]
    model.layers.{3..61}.mlp.experts.{0..7}.{gate,up,down}_proj.weight [64,64]
    model.layers.{3..61}.mlp.shared_experts.{gate,up,down}_proj.weight [64,64]
    model.layers.61.{eh_proj,embed_tokens,shared_head.head}.weight [64,64]
    lm_head.weight [256,64])";

TEST(IgnoreList, LacksAHeadThatIsQuantized) {
  const ModelFolder folder{"deepseek", R"({"num_hidden_layers": 61})", kDeepSeek};
  QuantizeOptions options;
  options.include = {"lm_head.weight"};
  const Plan plan = model_plan(folder, options).value();
  expect_both_read(plan);
  const Names list = ignore_list(engine_modules(plan));
  EXPECT_EQ(std::ranges::count(list, "lm_head"), 0);
}

TEST(IgnoreList, OfSixtyOneLayersIsShort) {
  const ModelFolder folder{"deepseek", R"({"num_hidden_layers": 61})", kDeepSeek};
  const auto list = [&](const Names& keep) {
    QuantizeOptions options;
    options.keep = keep;
    const Plan plan = model_plan(folder, options).value();
    expect_both_read(plan);
    return ignore_list(engine_modules(plan));
  };
  EXPECT_EQ(list({}), (Names{"*.gate", "*.kv_b_proj", "lm_head", "model.embed_tokens",
                             "model.layers.61.*", "mtp.*"}));
  EXPECT_EQ(list({"model.layers.[0-2].*"}),
            (Names{"*.gate", "*.kv_b_proj", "lm_head", "model.embed_tokens", "model.layers.0.*",
                   "model.layers.1.*", "model.layers.2.*", "model.layers.61.*", "mtp.*"}));
  EXPECT_EQ(list({"*.self_attn.*", "*.shared_experts.*"}),
            (Names{"*.gate", "*.mlp.shared_experts.*", "*.self_attn.*", "lm_head",
                   "model.embed_tokens", "model.layers.61.*", "mtp.*"}));
  EXPECT_LT(list({"*.experts.*"}).size(), 100u);
  EXPECT_LT(list({"*.7.*.q_a_proj.*"}).size(), 100u);
}

// A name is whatever a file says.
TEST(IgnoreList, OfANameOfManyPartsIsMadeAtOnce) {
  std::string inside = "model.layers.0.";
  for (int i = 0; i < 3000; ++i) inside += "a.";
  const EngineModules modules{{inside + "q", "model.layers.1.q"}, {inside + "k", "tower.a"}};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ignore_list(modules), (Names{"*.k", "lm_head", "mtp.*", "tower.*"}));
  EXPECT_EQ(ignore_patterns(modules).size(), 4u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace diecast::testing
