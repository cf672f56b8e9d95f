// Models of which a part is gone: what is told, and that nothing is told of whole ones.
#include <checkpoint/models/model_plan.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/gaps.h>

#include <algorithm>

namespace diecast::testing {
namespace {

std::vector<std::string> told(const CheckpointHeader& header, std::string_view config) {
  const ModelConfig model = parse_model_config(config);
  std::vector<std::string> out;
  for (const Gap& gap : gaps_of(header, LanguageModel::find(header, model, false).value(), model))
    out.push_back(gap.count == 1 ? gap.what : cat(gap.what, " x", gap.count));
  return out;
}

// Two dense layers, two of experts, one that drafts.
const ModelFolder kModel{"deepseek", R"({"num_hidden_layers": 4, "n_routed_experts": 3})", R"(
    model.embed_tokens.weight [256,64]
    model.layers.{0..3}.self_attn.{q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj}.weight [64,64]
    model.layers.{0..3}.self_attn.o_proj.weight [64,64]
    model.layers.{0..1}.mlp.{gate,up,down}_proj.weight [64,64]
    model.layers.{2..3}.mlp.gate.weight [3,64]
    model.layers.{2..3}.mlp.experts.{0..2}.{gate,up,down}_proj.weight [64,64]
    model.layers.{2..3}.mlp.shared_experts.{gate,up,down}_proj.weight [64,64]
    model.layers.4.{eh_proj,embed_tokens}.weight [64,64]
    lm_head.weight [256,64])"};

// What is told of the model without the tensors whose names have one of these in them.
std::vector<std::string> without(const std::vector<std::string>& words,
                                 std::string_view config = kModel.config,
                                 const ModelFolder& model = kModel) {
  CheckpointHeader header = model_header(model);
  std::erase_if(header.tensors, [&](const TensorInfo& tensor) {
    return std::ranges::any_of(
        words, [&](const std::string& word) { return tensor.name.find(word) != word.npos; });
  });
  return told(header, config);
}

using Told = std::vector<std::string>;

TEST(Gaps, AreTheLayersThatTheConfigCounts) {
  EXPECT_EQ(without({}), Told{});
  EXPECT_EQ(without({".layers.1."}),
            Told{R"("model.layers.1.*" has no tensor, and the config says 4 layers)"});
  EXPECT_EQ(without({".layers.0.", ".layers.1."}),
            Told{R"("model.layers.0.*" has no tensor, and the config says 4 layers x2)"});
  EXPECT_EQ(without({}, R"({"num_hidden_layers": 18446744073709551615, "num_experts": 3})"),
            Told{R"("model.layers.4.*" has no tensor, and the config says 18446744073709551615 )"
                 R"(layers x18446744073709551611)"});
  EXPECT_EQ(without({".layers.1."}, R"({"n_routed_experts": 3})"), Told{}) << "nobody knows";
}

TEST(Gaps, AreTheExpertsThatTheConfigOrOtherLayersHave) {
  const std::string bank = "model.layers.2.mlp.experts";
  EXPECT_EQ(without({bank + ".2."}),
            Told{cat('"', bank, R"(.2.*" has no weight, and the config says 3 experts)")});
  EXPECT_EQ(without({bank + ".0."}, R"({"num_hidden_layers": 4})"),
            Told{cat('"', bank, R"(.0.*" has no weight, and others have 3 experts)")});
  EXPECT_EQ(without({".experts.2."}).size(), 2u);
  EXPECT_EQ(without({".experts.2."}, R"({"num_hidden_layers": 4})"), Told{});
  EXPECT_EQ(without({bank + "."}),
            Told{R"("model.layers.2.mlp.experts" is gone, and the rest of its module is there)"});
}

TEST(Gaps, AreExpertsThatATensorOfAllHasNot) {
  const ModelFolder model{"fused", R"({"num_hidden_layers": 1, "num_experts": 3})", R"(
    model.embed_tokens.weight [256,64]
    model.layers.0.mlp.experts.gate_up_proj [2,128,64]
    model.layers.0.mlp.experts.down_proj [3,64,64])"};
  EXPECT_EQ(without({}, model.config, model).size(), 0u) << "the bank's first tensor by name";
  EXPECT_EQ(without({"experts.down"}, model.config, model).size(), 2u);
  const ModelFolder scalar{"scalar", model.config, R"(
    model.embed_tokens.weight [256,64]
    model.layers.0.mlp.experts.down_proj [])"};
  EXPECT_EQ(without({}, scalar.config, scalar).size(), 0u);
}

TEST(Gaps, AreWeightsThatAModuleCannotBeWithout) {
  const auto gone = [](const std::string& name) {
    return Told{cat('"', name, R"(" is gone, and the rest of its module is there)")};
  };
  const std::string dense = "model.layers.0.mlp.", expert = "model.layers.2.mlp.experts.1.",
                    attention = "model.layers.3.self_attn.";
  for (const std::string& module : {dense, expert})
    for (const char* role : {"up_proj", "down_proj", "gate_proj"})
      EXPECT_EQ(without({module + role}), gone(module + role));
  for (const char* role : {"q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "o_proj"})
    EXPECT_EQ(without({attention + role}), gone(attention + role));
  EXPECT_EQ(without({".up_proj"}).size(), 1u) << "a gate without its up, whatever others have";
  EXPECT_EQ(without({".gate_proj"}), Told{}) << "an MLP without gates";
  EXPECT_EQ(without({"layers.3.mlp.gate."}), gone("model.layers.3.mlp.gate"));
}

TEST(Gaps, AreNoPartnersOfAnAttentionsGate) {
  const ModelFolder model{"gated", R"({"num_hidden_layers": 2})", R"(
    model.embed_tokens.weight [256,64]
    model.layers.{0..1}.self_attn.{qkv,gate,o}_proj.weight [64,64]
    model.layers.{0..1}.mlp.{gate,up,down}_proj.weight [64,64])"};
  EXPECT_EQ(without({}, model.config, model), Told{});
  EXPECT_EQ(without({"0.self_attn.gate"}, model.config, model).size(), 1u);
  EXPECT_EQ(without({"0.mlp.up"}, model.config, model).size(), 1u);
}

TEST(Gaps, AreNoKeysThatLayersShare) {
  const ModelFolder model{"gemma", R"({"num_hidden_layers": 3, "num_kv_shared_layers": 1})", R"(
    model.embed_tokens.weight [256,64]
    model.layers.{0..2}.self_attn.{q,o}_proj.weight [64,64]
    model.layers.{0..1}.self_attn.{k,v}_proj.weight [64,64])"};
  EXPECT_EQ(without({}, model.config, model), Told{});
  EXPECT_EQ(without({}, R"({"num_hidden_layers": 3, "num_kv_shared_layers": 0})", model).size(),
            1u);
  EXPECT_EQ(without({"1.self_attn.q"}, model.config, model).size(), 1u);
}

// A first layer may have something of its own.
TEST(Gaps, AreNotWhatFewLayersHave) {
  const ModelFolder model{"special", R"({"num_hidden_layers": 3})", R"(
    model.embed_tokens.weight [256,64]
    model.layers.{0..2}.mixer.{in_proj,out_proj}.weight [64,64]
    model.layers.0.mixer.value_proj.weight [64,64])"};
  EXPECT_EQ(without({}, model.config, model), Told{});
}

TEST(Gaps, AreInNoModelThatPeopleHave) {
  int seen = 0;
  for (const ModelFolder& folder : model_folders()) {
    if (!folder.refused.empty()) continue;
    ++seen;
    EXPECT_EQ(told(model_header(folder), folder.config), Told{}) << folder.name;
  }
  EXPECT_GE(seen, 60);
}

}  // namespace
}  // namespace diecast::testing
