// The one decision function, asked with headers alone: no file, no kernel.
#include <checkpoint/plan_fixture.h>

namespace diecast::testing {
namespace {

// "copy: rank 1", "quantize: "
std::string decision(const TensorInfo& tensor, const QuantizeOptions& options = {}) {
  const Plan plan = plan_quantize(header_of({tensor}), options).value();
  return std::string(action_name(plan.tensors[0].action)) + ": " + plan.tensors[0].reason;
}

std::string decision(const std::string& name, const QuantizeOptions& options = {}) {
  return decision(TensorInfo{name, StoredDType::bf16, {32, 64}}, options);
}

TEST(Plan, QuantizesFloatingPointWeightsOfRankTwoAndThree) {
  EXPECT_EQ(decision("model.layers.0.mlp.down_proj.weight"), "quantize: ");
  EXPECT_EQ(decision({"a.weight", StoredDType::f32, {16, 16}}), "quantize: ");
  EXPECT_EQ(decision({"a.weight", StoredDType::f16, {4, 16, 16}}), "quantize: ");
  EXPECT_EQ(decision({"a.weight", StoredDType::bf16, {64}}), "copy: rank 1");
  EXPECT_EQ(decision({"a.weight", StoredDType::bf16, {2, 2, 2, 16}}), "copy: rank 4");
  EXPECT_EQ(decision({"a.weight", StoredDType::bf16, {}}), "copy: rank 0");
  EXPECT_EQ(decision({"a.weight", StoredDType::f64, {16, 16}}), "copy: F64 is not quantized");
  EXPECT_EQ(decision({"a.weight", StoredDType::f8_e4m3, {16, 16}}),
            "copy: F8_E4M3 is not quantized");
  EXPECT_EQ(decision({"a.weight", StoredDType::bf16, {0, 16}}), "copy: no elements");
  EXPECT_EQ(decision({"a.weight", StoredDType::bf16, {16, 0}}), "copy: no elements");
  EXPECT_EQ(decision("a.bias"), "copy: no weight");
  EXPECT_EQ(decision("weight"), "copy: no weight");
}

TEST(Plan, CopiesNormsEmbeddingsRoutersAndTheOutputHead) {
  for (const char* name : {"model.norm.weight", "layers.0.input_layernorm.weight",
                           "a.LayerNorm.weight", "a.q_norm.weight"}) {
    EXPECT_EQ(decision(name), "copy: a norm") << name;
  }
  for (const char* name : {"model.embed_tokens.weight", "a.word_embeddings.weight",
                           "transformer.wte.weight", "wpe.weight"}) {
    EXPECT_EQ(decision(name), "copy: an embedding") << name;
  }
  for (const char* name :
       {"layers.0.mlp.gate.weight", "a.block_sparse_moe.gate.weight", "a.router.weight",
        "a.mlp.router_proj.weight", "a.mlp.shared_expert_gate.weight"}) {
    EXPECT_EQ(decision(name), "copy: a router") << name;
  }
  EXPECT_EQ(decision("lm_head.weight"), "copy: the output head");
  EXPECT_EQ(decision("output.weight"), "copy: the output head");
  EXPECT_EQ(decision("shared.weight"), "copy: an embedding");
  EXPECT_EQ(decision("layers.61.shared_head.head.weight"), "copy: the output head");
  EXPECT_EQ(decision("model.vision_tower.layers.0.fc1.weight"), "copy: a vision tower");
  EXPECT_EQ(decision("vision_model.layers.0.q_proj.weight"), "copy: a vision tower");
  EXPECT_EQ(decision("layers.61.eh_proj.weight"), "copy: the input of a draft layer");
  EXPECT_EQ(decision("a.attention.output.weight"), "quantize: ");
  EXPECT_EQ(decision("a.shared.weight"), "quantize: ");
  EXPECT_EQ(decision("model.gate_proj.weight"), "quantize: ") << "a projection, not a router";
  EXPECT_EQ(decision("a.my_lm_head_adapter.weight"), "quantize: ");
}

TEST(Plan, IncludeNarrowsAndExcludeWins) {
  QuantizeOptions options;
  options.include = {"*.mlp.*", "model.x.weight"};
  EXPECT_EQ(decision("model.layers.0.mlp.up_proj.weight", options), "quantize: ")
      << "a star crosses dots";
  EXPECT_EQ(decision("model.x.weight", options), "quantize: ");
  EXPECT_EQ(decision("model.y.weight", options), "copy: not included");
  EXPECT_EQ(decision("a.mlp.gate.weight", options), "copy: a router")
      << "an include does not force";
  options.exclude = {"*up_proj*"};
  EXPECT_EQ(decision("model.layers.0.mlp.up_proj.weight", options), "copy: excluded by *up_proj*");
  options.exclude = {"*.layers.[0-2].*"};
  EXPECT_EQ(decision("model.layers.1.mlp.a.weight", options), "copy: excluded by *.layers.[0-2].*");
  EXPECT_EQ(decision("model.layers.3.mlp.a.weight", options), "quantize: ");
}

TEST(Plan, GlobThatMatchesNothingIsNoted) {
  QuantizeOptions options;
  options.include = {"*.weight"};
  options.exclude = {"*.wieght"};
  const Plan plan = plan_quantize(weights({"a.weight"}), options).value();
  EXPECT_EQ(plan.notes, std::vector<std::string>{"--exclude \"*.wieght\" matches no tensor"});
  options.strict = true;
  const auto strict = plan_quantize(weights({"a.weight"}), options);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message(),
            "diecast: invalid_argument: --exclude \"*.wieght\" matches no tensor\n"
            "  fix: correct it (--dry-run lists the names), or go on without --strict");
}

TEST(Plan, NothingToQuantizeIsNoted) {
  const std::vector<std::string> note = {"no tensor is quantized: all are copied"};
  QuantizeOptions excluded;
  excluded.exclude = {"*"};
  EXPECT_EQ(plan_quantize(weights({"a.weight"}), excluded).value().notes, note);
  // Experts without a name of a weight, and what is quantized to FP8 already.
  const auto others = header_of({{"experts.gate_up_proj", StoredDType::bf16, {4, 32, 64}},
                                 {"a.weight", StoredDType::f8_e4m3, {32, 64}}});
  EXPECT_EQ(plan_quantize(others).value().notes, note);
  QuantizeOptions strict;
  strict.strict = true;
  const auto refused = plan_quantize(others, strict);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: invalid_argument: no tensor is quantized: all are copied\n"
            "  fix: --dry-run says why of each; or go on without --strict");
}

TEST(Plan, ANameWithNulIsMatchedAsAWhole) {
  const std::string name("a\0b.weight", 10);
  QuantizeOptions options;
  options.include = {"a"};
  EXPECT_EQ(decision(name, options), "copy: not included");
  options.include = {"*.weight"};
  options.exclude = {"a?b.weight"};
  EXPECT_EQ(decision(name, options), "copy: excluded by a?b.weight");
}

// What a fix says to leave out is left out, whatever the name is made of.
TEST(Plan, AFixNamesAGlobThatMatches) {
  using namespace std::string_literals;
  EXPECT_EQ(glob_of("model.layers.0.up_proj.weight"), "model.layers.0.up_proj.weight");
  EXPECT_EQ(glob_of("a[0]*\\$`\"!\x1b\0\x7fé.weight"s), "a?0??????????é.weight");
  EXPECT_EQ(glob_of(std::string(149, 'n') + "é.weight"), std::string(149, 'n') + "*");
  for (const std::string& name :
       {"experts[3].weight"s, "a\0\n*.weight"s, "é\\.weight"s, std::string(300, 'n') + ".weight"}) {
    QuantizeOptions options;
    options.exclude = {glob_of(name)};
    EXPECT_EQ(decision(name, options), "copy: excluded by " + glob_of(name));
  }
  const auto taken = header_of(
      {{"e[1].weight", StoredDType::bf16, {2, 32}}, {"e[1].input_scale", StoredDType::f32, {}}});
  EXPECT_EQ(plan_quantize(taken).error().fix, "leave it out with --exclude \"e?1?.weight\"");
}

TEST(Plan, LastDimensionThatIsNoMultipleOfSixteenIsCopiedAndNotedOrAnErrorWhenStrict) {
  const auto header = header_of(
      {{"a.weight", StoredDType::bf16, {16, 100}}, {"b.weight", StoredDType::bf16, {16, 96}}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(planned(plan, "a.weight").action, Action::copy);
  EXPECT_EQ(plan.notes, std::vector<std::string>{
                            "\"a.weight\" is copied: the last dimension 100 is no multiple of 16"});
  QuantizeOptions options;
  options.strict = true;
  const auto strict = plan_quantize(header, options);
  ASSERT_FALSE(strict);
  EXPECT_EQ(
      strict.error().message(),
      "diecast: shape_mismatch: tensor \"a.weight\": the last dimension 100 is no multiple of 16\n"
      "  fix: leave it out with --exclude \"a.weight\", or copy it without --strict");
  options.exclude = {"a.weight"};
  EXPECT_TRUE(plan_quantize(header, options));
}

TEST(Plan, MatricesOfOtherNamesAreCopiedAndNotedOrAnErrorWhenStrict) {
  const std::string experts = "model.layers.0.mlp.experts.gate_up_proj";
  const auto header = header_of({{experts, StoredDType::bf16, {4, 64, 128}},
                                 {"a.A_log", StoredDType::f32, {256, 16}},
                                 {"a.experts_bias", StoredDType::bf16, {64, 64}},
                                 {"a.pos_embed", StoredDType::bf16, {64, 64}},
                                 {"a.codes", StoredDType::u8, {64, 64}},
                                 {"a.weight", StoredDType::bf16, {64, 64}}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{"\"" + experts +
                                     "\" is copied: a matrix whose name does not end in .weight"});
  EXPECT_EQ(planned(plan, experts).action, Action::copy);
  EXPECT_EQ(planned(plan, "a.A_log").reason, "no weight");
  QuantizeOptions options;
  options.strict = true;
  const auto strict = plan_quantize(header, options);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message(), "diecast: shape_mismatch: tensor \"" + experts +
                                          "\": a matrix whose name does not end in .weight\n"
                                          "  fix: leave it out with --exclude \"" +
                                          experts + "\", or copy it without --strict");
  options.exclude = {"*.experts.*"};
  EXPECT_TRUE(plan_quantize(header, options));
  options.exclude = {}, options.include = {"a.weight"};
  EXPECT_TRUE(plan_quantize(header, options));
  EXPECT_EQ(plan_quantize(weights({"a.w1", "a.w2", "a.weight"}, {64, 64})).value().notes[0],
            "2 tensors are copied, \"a.w1\" the first: each is a matrix whose name does not end in "
            ".weight");
}

TEST(Plan, OutputHasFourTensorsAWeight) {
  const auto header = header_of({{"a.weight", StoredDType::bf16, {32, 64}},
                                 {"b.weight", StoredDType::f32, {4, 32, 64}},
                                 {"c.bias", StoredDType::i64, {3}}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(output(plan, "a.weight"), "U8 [32, 32]");
  EXPECT_EQ(output(plan, "a.weight_scale"), "F8_E4M3 [32, 4]");
  EXPECT_EQ(output(plan, "a.weight_scale_2"), "F32 []");
  EXPECT_EQ(output(plan, "a.input_scale"), "F32 []");
  EXPECT_EQ(output(plan, "b.weight"), "U8 [4, 32, 32]");
  EXPECT_EQ(output(plan, "b.weight_scale"), "F8_E4M3 [4, 32, 4]");
  EXPECT_EQ(output(plan, "b.weight_scale_2"), "F32 [4]");
  EXPECT_EQ(output(plan, "b.input_scale"), "F32 [4]");
  EXPECT_EQ(output(plan, "c.bias"), "I64 [3]");
  EXPECT_EQ(plan.outputs[0].tensors.size(), 9u);
  QuantizeOptions options;
  options.row_scaled = true;
  const Plan rows = plan_quantize(header, options).value();
  EXPECT_EQ(output(rows, "a.weight_scale_2"), "F32 [32]");
  EXPECT_EQ(output(rows, "b.weight_scale_2"), "F32 [4, 32]");
  EXPECT_EQ(output(rows, "a.input_scale"), "F32 []");
  EXPECT_EQ(output(rows, "b.input_scale"), "F32 []");
}

TEST(Plan, MetadataSaysProfileAndOldTypesAndKeepsTheRest) {
  const auto header = header_of(
      {{"a.weight", StoredDType::bf16, {16, 16}}, {"b.weight", StoredDType::f16, {16, 16}}},
      {{"format", "pt"}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(plan.outputs[0].metadata,
            (Metadata{{"format", "pt"},
                      {"diecast.format", "nvfp4"},
                      {"diecast.profile", "te"},
                      {"diecast.dtypes", R"({"a.weight":"BF16","b.weight":"F16"})"}}));
}

TEST(Plan, WR11_CollidingOutputNameIsAnError) {
  for (const std::string name : {"a.weight_scale", "a.weight_scale_2", "a.input_scale"}) {
    const auto plan = plan_quantize(
        header_of({{"a.weight", StoredDType::bf16, {16, 16}}, {name, StoredDType::f32, {}}}));
    ASSERT_FALSE(plan) << name;
    EXPECT_EQ(plan.error().message(),
              "diecast: invalid_argument: quantizing \"a.weight\" writes \"" + name +
                  "\", but the input has a tensor of that name\n  fix: leave it out with --exclude "
                  "\"a.weight\"");
  }
}

TEST(Plan, FileThatIsQuantizedAlreadyIsRefused) {
  const Plan once = plan_quantize(weights({"a.weight", "b.weight"})).value();
  const auto twice = plan_quantize(once.outputs[0]);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message(),
            "diecast: invalid_argument: the input is quantized already: its metadata has "
            "\"diecast.dtypes\"\n"
            "  fix: run `diecast dequantize` on it first");
}

}  // namespace
}  // namespace diecast::testing
