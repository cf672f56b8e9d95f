// What is quantized by default and by the user's globs, asked with headers alone.
#include <checkpoint/plan_fixture.h>

#include <utility>

namespace diecast::testing {
namespace {

TEST(Plan, CopiesWhatTheKeepListNames) {
  const std::pair<std::string, std::vector<std::string>> kept[] = {
      {"a norm", {"input_layernorm", "LayerNorm", "self_attn.q_norm", "norm1.linear"}},
      {"an embedding", {"self_attn.embed_positions", "a.wpe"}},
      {"a router",
       {"mlp.gate", "block_sparse_moe.gate", "a.router", "mlp.router_proj", "ffn.router.layer",
        "mlp.shared_expert_gate"}},
      {"the output head", {"a.lm_head"}},
      {"a convolution", {"mixer.conv1d", "self_attn.q_conv1d"}},
      {"a parameter of the state space",
       {"linear_attn.in_proj_a", "linear_attn.in_proj_ba", "mixer.x_proj", "mixer.dt_proj"}},
      {"absorbed by engines, who read it as floating point", {"self_attn.kv_b_proj", "attn.wo_a"}},
      {"a part of the sparse attention's indexer", {"indexer.wk", "indexer.weights_proj"}},
      {"a compressor", {"attn.compressor.wkv"}},
      {"a gate's projection", {"self_attn.f_b_proj"}},
      {"a latent projection", {"mixer.fc1_latent_proj"}},
      {"an adapter", {"q_proj.lora_A.speech", "self_attn.adapter_up"}},
      {"a table", {"attn.relative_attention_bias", "a.position_table", "a.talking_bias"}}};
  for (const auto& [kind, names] : kept) {
    for (const std::string& name : names) {
      const std::string weight = "layers.0." + name + ".weight";
      EXPECT_EQ(decision(weight), "copy: " + kind) << name;
      EXPECT_EQ(decision(weight, including({"*"})), "quantize: ") << name;
    }
  }
  for (const char* name : {"attention.output", "a.shared", "mlp.gate_proj", "indexer.wq_b",
                           "norm_attn_norm.attn.Wqkv", "a.headdress"}) {
    EXPECT_EQ(decision(std::string("layers.0.") + name + ".weight"), "quantize: ") << name;
  }
}

// Whatever the config says of their number.
TEST(Plan, LayersThatDraftTokensAreCopied) {
  for (const char* part : {"eh_proj", "enorm", "hnorm", "shared_head.head"}) {
    const std::string drafts = std::string("layers.1.") + part + ".weight";
    const auto header = weights({"layers.0.o_proj.weight", "layers.1.o_proj.weight", drafts});
    const Plan plan = plan_quantize(header).value();
    EXPECT_EQ(planned(plan, "layers.1.o_proj.weight").reason, "a layer that drafts tokens") << part;
    EXPECT_EQ(planned(plan, drafts).reason, "a layer that drafts tokens");
    EXPECT_EQ(plan.groups.size(), 1u);
  }
}

// Each has its layers in another module of its name, where both together have none.
TEST(Plan, EncoderAndDecoderOfNoStackBesideEachOtherAreTwoModels) {
  const auto header =
      weights({"encoder.embed_tokens.weight", "encoder.encoder.layers.0.mlp.up_proj.weight",
               "decoder.embed_tokens.weight", "decoder.decoder.layers.0.mlp.up_proj.weight"});
  const auto plan = plan_quantize(header);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("several language models"), std::string::npos);
  EXPECT_EQ(
      decision("decoder.decoder.layers.0.mlp.up_proj.weight", including({"*.up_proj.weight"})),
      "quantize: ");
}

TEST(Plan, ExcludeIsStrongerThanIncludeAndThatThanKeep) {
  QuantizeOptions options = including({"*.mlp.*", "model.x.weight"});
  EXPECT_EQ(decision("model.x.weight", options), "quantize: ") << "wherever it is";
  EXPECT_EQ(decision("a.mlp.gate.weight", options), "quantize: ") << "whatever it is";
  EXPECT_EQ(decision("layers.0.up.weight", options), "quantize: ") << "an include adds";
  EXPECT_EQ(decision("model.y.weight", options), "copy: outside the language model's layers");
  options.keep = {"*.a.*", "*.mlp.b.*"};
  EXPECT_EQ(decision("layers.0.a.c.weight", options), "copy: kept by *.a.*");
  EXPECT_EQ(decision("layers.0.mlp.b.weight", options), "quantize: ");
  options.exclude = {"*up_proj*", "*.layers.[0-2].*"};
  EXPECT_EQ(decision("layers.0.mlp.up_proj.weight", options), "copy: excluded by *up_proj*");
  EXPECT_EQ(decision("model.layers.1.mlp.a.weight", options), "copy: excluded by *.layers.[0-2].*");
  EXPECT_EQ(decision("model.layers.3.mlp.a.weight", options), "quantize: ");
}

// Engines load all of them in one way.
TEST(Plan, AGlobTakesTheWholeOfWhatEnginesFuse) {
  const auto header =
      weights({"l.0.q_proj.weight", "l.0.k_proj.weight", "l.0.v_proj.weight", "l.0.o_proj.weight",
               "l.0.experts.0.w1.weight", "l.0.experts.0.w2.weight", "l.0.experts.1.w1.weight"});
  QuantizeOptions options;
  options.exclude = {"*.k_proj.*", "*.experts.1.*"};
  const Plan plan = plan_quantize(header, options).value();
  EXPECT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(planned(plan, "l.0.q_proj.weight").reason, "excluded by *.k_proj.*");
  EXPECT_EQ(planned(plan, "l.0.experts.0.w2.weight").reason, "excluded by *.experts.1.*");
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{
                "--exclude takes 4 tensors more than its globs match, \"l.0.experts.0.w1.weight\" "
                "the first: engines make one module of it and of what they match"});
  options.keep = std::exchange(options.exclude, {});
  EXPECT_EQ(plan_quantize(header, options)->groups.size(), 1u);
}

TEST(Plan, AFamilyOfWhichAMemberCannotBeQuantizedIsCopiedWhole) {
  const auto header = header_of({{"l.0.mlp.gate_proj.weight", StoredDType::bf16, {32, 64}},
                                 {"l.0.mlp.up_proj.weight", StoredDType::f64, {32, 64}},
                                 {"l.1.mlp.gate_proj.weight", StoredDType::bf16, {32, 64}},
                                 {"l.1.mlp.up_proj.weight", StoredDType::f64, {32, 64}},
                                 {"l.0.mlp.down_proj.weight", StoredDType::bf16, {64, 32}}});
  QuantizeOptions options;
  const Plan plan = plan_quantize(header, options).value();
  EXPECT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.notes, std::vector<std::string>{
                            "\"l.0.mlp.gate_proj.weight\" belongs to \"l.0.mlp.up_proj.weight\", "
                            "which is not quantized: F64 is not quantized; the module that engines "
                            "make of them is copied, and so "
                            "in 1 more modules"});
  options.include = {"*.gate_proj.*"};
  const auto refused = plan_quantize(header, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: shape_mismatch: \"l.0.mlp.gate_proj.weight\" belongs to "
            "\"l.0.mlp.up_proj.weight\", which is not quantized: F64 is not quantized\n"
            "  fix: leave both out, or have one without the other with --force, which engines do "
            "not load");
  options.force = true;
  EXPECT_EQ(plan_quantize(header, options)->groups.size(), 3u);
}

TEST(Plan, RecipesAndEndsNarrowWhatIsQuantized) {
  const auto header =
      weights({"embed_tokens.weight", "layers.0.attn.o_proj.weight", "layers.0.attn.q_proj.weight",
               "layers.0.mlp.up_proj.weight", "layers.1.mlp.experts.0.up_proj.weight",
               "layers.2.mlp.experts.0.up_proj.weight", "layers.3.attn.o_proj.weight",
               "layers.4.eh_proj.weight"});
  const auto quantized = [&](const QuantizeOptions& options) {
    const Plan plan = plan_quantize(header, options).value();
    std::string out;
    for (const PlannedTensor& tensor : plan.tensors)
      if (tensor.action == Action::quantize) out += tensor.name.substr(7, 8) + " ";
    return out;
  };
  QuantizeOptions options;
  EXPECT_EQ(quantized(options), "0.attn.o 0.attn.q 0.mlp.up 1.mlp.ex 2.mlp.ex 3.attn.o ");
  options.recipe = WeightRecipe::mlp_o;
  EXPECT_EQ(quantized(options), "0.attn.o 0.mlp.up 1.mlp.ex 2.mlp.ex 3.attn.o ");
  options.recipe = WeightRecipe::mlp;
  EXPECT_EQ(quantized(options), "0.mlp.up 1.mlp.ex 2.mlp.ex ");
  options.recipe = WeightRecipe::experts;
  EXPECT_EQ(quantized(options), "1.mlp.ex 2.mlp.ex ");
  options.first_layers = 2;
  EXPECT_EQ(quantized(options), "2.mlp.ex ");
  options.recipe = WeightRecipe::all;
  options.last_layers = 1;
  EXPECT_EQ(quantized(options), "2.mlp.ex ") << "a layer that drafts is none of the last";
  options.first_layers = 0;
  options.model.layers = 3;
  EXPECT_EQ(quantized(options), "0.attn.o 0.attn.q 0.mlp.up 1.mlp.ex ");
  options.include = {"layers.0.*"};
  options.first_layers = ~std::uint64_t{0};
  EXPECT_EQ(quantized(options), "0.attn.o 0.attn.q 0.mlp.up ");
}

TEST(Plan, AModelThatIsQuantizedAlreadyIsRefusedUnlessForced) {
  QuantizeOptions options;
  options.model = parse_model_config(R"({"quantization_config": {"quant_method": "awq"}})");
  const auto header = weights({"l.0.a.weight"});
  const auto refused = plan_quantize(header, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: not_supported: the model is quantized already: its config has "
            "quantization_config, which says \"awq\"\n"
            "  fix: give the model that it was made of; --force quantizes what is floating point, "
            "which no engine loads");
  options.force = true;
  EXPECT_EQ(plan_quantize(header, options)->groups.size(), 1u);
}

}  // namespace
}  // namespace diecast::testing
