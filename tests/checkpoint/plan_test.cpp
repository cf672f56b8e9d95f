// The one decision function, asked with headers alone: no file, no kernel.
#include <checkpoint/plan_fixture.h>

namespace diecast::testing {
namespace {

TEST(Plan, QuantizesFloatingPointMatricesOfLayers) {
  const auto shaped = [](StoredDType type, Dims shape, const QuantizeOptions& options = {}) {
    return decision({"l.0.a.weight", type, std::move(shape)}, options);
  };
  EXPECT_EQ(decision("model.layers.0.mlp.down_proj.weight"), "quantize: ");
  EXPECT_EQ(shaped(StoredDType::f32, {16, 16}), "quantize: ");
  EXPECT_EQ(shaped(StoredDType::bf16, {64}), "copy: rank 1");
  EXPECT_EQ(shaped(StoredDType::f16, {4, 16, 16}), "copy: rank 3");
  EXPECT_EQ(shaped(StoredDType::f16, {4, 64, 64}),
            "copy: experts in one tensor, which engines read one by one");
  EXPECT_EQ(shaped(StoredDType::f16, {4, 16, 16}, including({"*"})), "quantize: ");
  EXPECT_EQ(shaped(StoredDType::bf16, {2, 2, 2, 16}, including({"*"})), "copy: rank 4");
  EXPECT_EQ(shaped(StoredDType::bf16, {}), "copy: rank 0");
  EXPECT_EQ(shaped(StoredDType::f64, {16, 16}), "copy: F64 is not quantized");
  EXPECT_EQ(shaped(StoredDType::f8_e4m3, {16, 16}), "copy: F8_E4M3 is not quantized");
  EXPECT_EQ(shaped(StoredDType::bf16, {0, 16}), "copy: no elements");
  EXPECT_EQ(shaped(StoredDType::bf16, {16, 0}), "copy: no elements");
  EXPECT_EQ(decision("l.0.a.bias"), "copy: no weight");
  EXPECT_EQ(decision("weight"), "copy: no weight");
  EXPECT_EQ(decision("a.weight"), "copy: outside the language model's layers");
  EXPECT_EQ(decision("mlp1.1.weight"), "copy: outside the language model's layers");
}

TEST(Plan, GlobThatMatchesNothingIsNoted) {
  QuantizeOptions options;
  options.keep = {"*.weight"};
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

// The copy of a model says nothing of a format that nothing in it has.
TEST(Plan, NothingToQuantizeIsRefusedUnlessForced) {
  QuantizeOptions options;
  options.exclude = {"*"};
  const auto header = weights({"l.0.a.weight"});
  const auto refused = plan_quantize(header, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: invalid_argument: no tensor is quantized, \"l.0.a.weight\" not, for one: "
            "excluded by *\n"
            "  fix: --dry-run --force says why of each, --include quantizes what it names");
  options.force = true;
  const Plan forced = plan_quantize(header, options).value();
  EXPECT_EQ(forced.notes, std::vector<std::string>{"no tensor is quantized: all are copied"});
  EXPECT_EQ(encode_header(forced.outputs[0]), encode_header(header));
}

TEST(Plan, ANameWithNulIsMatchedAsAWhole) {
  const std::string name("layers.0.a\0b.weight", 19);
  QuantizeOptions options;
  options.exclude = {"layers.0.a"};
  EXPECT_EQ(decision(name, options), "quantize: ");
  options.exclude = {"*.a?b.weight"};
  EXPECT_EQ(decision(name, options), "copy: excluded by *.a?b.weight");
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
  EXPECT_EQ(plan_quantize(taken, including({"e*"})).error().fix,
            "leave it out with --exclude \"e?1?.weight\"");
}

TEST(Plan, LastDimensionThatIsNoMultipleOfSixteenIsCopiedAndNotedOrAnErrorWhenStrict) {
  const auto header = header_of({{"l.0.a.weight", StoredDType::bf16, {16, 100}},
                                 {"l.0.b.weight", StoredDType::bf16, {16, 96}}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(planned(plan, "l.0.a.weight").action, Action::copy);
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{
                "\"l.0.a.weight\" is copied: the last dimension 100 is no multiple of 16"});
  QuantizeOptions options;
  options.strict = true;
  const auto strict = plan_quantize(header, options);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message(),
            "diecast: shape_mismatch: tensor \"l.0.a.weight\": the last dimension 100 is no "
            "multiple of 16\n"
            "  fix: leave it out with --exclude \"l.0.a.weight\", or copy it without --strict");
  options.exclude = {"l.0.a.weight"};
  EXPECT_TRUE(plan_quantize(header, options));
}

TEST(Plan, MatricesOfOtherNamesAreCopiedAndNotedOrAnErrorWhenStrict) {
  const std::string experts = "model.layers.0.mlp.experts.gate_and_up";
  const auto header = header_of({{experts, StoredDType::bf16, {4, 64, 128}},
                                 {"l.0.a.A_log", StoredDType::f32, {256, 16}},
                                 {"a.experts_bias", StoredDType::bf16, {64, 64}},
                                 {"a.pos_embed", StoredDType::bf16, {64, 64}},
                                 {"a.codes", StoredDType::u8, {64, 64}},
                                 {"l.0.a.weight", StoredDType::bf16, {64, 64}}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{"\"" + experts +
                                     "\" is copied: a matrix whose name does not end in .weight"});
  EXPECT_EQ(planned(plan, experts).action, Action::copy);
  EXPECT_EQ(planned(plan, "l.0.a.A_log").reason, "no weight");
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
  EXPECT_EQ(
      plan_quantize(weights({"l.0.w1.a", "l.0.w2.a", "l.0.a.weight"}, {64, 64})).value().notes[0],
      "2 tensors are copied, \"l.0.w1.a\" the first: a matrix whose name does not end in .weight");
}

TEST(Plan, OutputHasFourTensorsAWeight) {
  const auto header = header_of({{"l.0.a.weight", StoredDType::bf16, {32, 64}},
                                 {"l.0.b.weight", StoredDType::f32, {4, 32, 64}},
                                 {"l.0.c.bias", StoredDType::i64, {3}}});
  QuantizeOptions options = including({"*.b.weight"});
  const Plan plan = plan_quantize(header, options).value();
  EXPECT_EQ(output(plan, "l.0.a.weight"), "U8 [32, 32]");
  EXPECT_EQ(output(plan, "l.0.a.weight_scale"), "F8_E4M3 [32, 4]");
  EXPECT_EQ(output(plan, "l.0.a.weight_scale_2"), "F32 []");
  EXPECT_EQ(output(plan, "l.0.a.input_scale"), "F32 []");
  EXPECT_EQ(output(plan, "l.0.b.weight"), "U8 [4, 32, 32]");
  EXPECT_EQ(output(plan, "l.0.b.weight_scale"), "F8_E4M3 [4, 32, 4]");
  EXPECT_EQ(output(plan, "l.0.b.weight_scale_2"), "F32 [4]");
  EXPECT_EQ(output(plan, "l.0.b.input_scale"), "F32 [4]");
  EXPECT_EQ(output(plan, "l.0.c.bias"), "I64 [3]");
  EXPECT_EQ(plan.outputs[0].tensors.size(), 9u);
  options.row_scaled = true;
  const Plan rows = plan_quantize(header, options).value();
  EXPECT_EQ(output(rows, "l.0.a.weight_scale_2"), "F32 [32]");
  EXPECT_EQ(output(rows, "l.0.b.weight_scale_2"), "F32 [4, 32]");
  EXPECT_EQ(output(rows, "l.0.a.input_scale"), "F32 []");
  EXPECT_EQ(output(rows, "l.0.b.input_scale"), "F32 []");
}

TEST(Plan, MetadataSaysProfileAndOldTypesAndKeepsTheRest) {
  const auto header = header_of(
      {{"l.0.a.weight", StoredDType::bf16, {16, 16}}, {"l.0.b.weight", StoredDType::f16, {16, 16}}},
      {{"format", "pt"}});
  const Plan plan = plan_quantize(header).value();
  EXPECT_EQ(plan.outputs[0].metadata,
            (Metadata{{"format", "pt"},
                      {"diecast.format", "nvfp4"},
                      {"diecast.profile", "te"},
                      {"diecast.dtypes", R"({"l.0.a.weight":"BF16","l.0.b.weight":"F16"})"}}));
}

TEST(Plan, WR11_CollidingOutputNameIsAnError) {
  for (const std::string name :
       {"l.0.a.weight_scale", "l.0.a.weight_scale_2", "l.0.a.input_scale"}) {
    const auto plan = plan_quantize(
        header_of({{"l.0.a.weight", StoredDType::bf16, {16, 16}}, {name, StoredDType::f32, {}}}));
    ASSERT_FALSE(plan) << name;
    EXPECT_EQ(plan.error().message(),
              "diecast: invalid_argument: quantizing \"l.0.a.weight\" writes \"" + name +
                  "\", but the input has a tensor of that name\n  fix: leave it out with --exclude "
                  "\"l.0.a.weight\"");
  }
}

TEST(Plan, FileThatIsQuantizedAlreadyIsRefused) {
  const Plan once = plan_quantize(weights({"l.0.a.weight", "l.0.b.weight"})).value();
  const auto twice = plan_quantize(once.outputs[0]);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message(),
            "diecast: invalid_argument: the input is quantized already: its metadata has "
            "\"diecast.dtypes\"\n"
            "  fix: run `diecast dequantize` on it first; --config gives NVFP4 other names");
}

}  // namespace
}  // namespace diecast::testing
