// The way back, asked with headers alone.
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>

namespace diecast::testing {
namespace {

TEST(Plan, DequantizeGoesBackToNamesShapesTypesAndMetadata) {
  for (const bool row_scaled : {false, true}) {
    const auto header = header_of({{"a.weight", StoredDType::bf16, {32, 64}},
                                   {"b.weight", StoredDType::f32, {4, 32, 64}},
                                   {"c.bias", StoredDType::i64, {3}}},
                                  {{"format", "pt"}});
    QuantizeOptions options;
    options.include = {"*"};
    options.row_scaled = row_scaled;
    const Plan there = plan_quantize(header, options).value();
    const Plan back = plan_dequantize(there.outputs[0]).value();
    EXPECT_EQ(encode_header(back.outputs[0]), encode_header(header));
    EXPECT_EQ(planned(back, "b.weight").row_scaled, row_scaled);
    EXPECT_EQ(planned(back, "b.weight").matrices.matrices, 4u);
    const Plan to = plan_dequantize(there.outputs[0], DType::f16).value();
    EXPECT_EQ(output(to, "b.weight"), "F16 [4, 32, 64]");
  }
}

TEST(Plan, DequantizeOfAFileInWhichNothingWasQuantizedCopiesIt) {
  const auto copied =
      header_of({{"a.bias", StoredDType::bf16, {32, 64}}}, {{"format", "pt"},
                                                            {"diecast.format", "nvfp4"},
                                                            {"diecast.profile", "te"},
                                                            {"diecast.dtypes", "{}"}});
  const Plan back = plan_dequantize(copied).value();
  EXPECT_EQ(encode_header(back.outputs[0]), encode_header(weights({"a.bias"})));
}

std::vector<TensorInfo> foreign(StoredDType scale_type = StoredDType::f8_e4m3, Dims scale = {32, 4},
                                Dims scale_2 = {}) {
  return {{"a.weight", StoredDType::u8, {32, 32}},
          {"a.weight_scale", scale_type, scale},
          {"a.weight_scale_2", StoredDType::f32, scale_2}};
}

TEST(Plan, DequantizeReadsAnotherToolsFileWhenTheTypeIsGiven) {
  const auto untyped = plan_dequantize(header_of(foreign()));
  ASSERT_FALSE(untyped);
  EXPECT_EQ(untyped.error().message(),
            "diecast: value_missing: the file does not say which type \"a.weight\" had\n"
            "  fix: name one with --to bf16, f16 or f32");
  EXPECT_EQ(output(plan_dequantize(header_of(foreign()), DType::bf16).value(), "a.weight"),
            "BF16 [32, 64]");
  EXPECT_TRUE(plan_dequantize(header_of(foreign(StoredDType::f8_e4m3, {32, 4}, {1})), DType::bf16));
}

TEST(Plan, DequantizeRefusesPartsThatDoNotFit) {
  const auto what = [](std::vector<TensorInfo> tensors, Metadata metadata = {}) {
    const auto plan =
        plan_dequantize(header_of(std::move(tensors), std::move(metadata)), DType::bf16);
    return plan ? "" : std::string(code_word(plan.error().code)) + ": " + plan.error().what;
  };
  EXPECT_EQ(what(foreign(StoredDType::f8_e4m3, {128, 4})),
            "not_supported: tensor \"a.weight_scale\" [128, 4] has the shape of scales in tiles of "
            "128x4");
  EXPECT_EQ(what(foreign(StoredDType::f8_e4m3, {32, 4}, {2})),
            "file_corrupt: tensor \"a.weight_scale_2\" [2] does not fit \"a.weight\" [32, 32]");
  EXPECT_EQ(what({{"a.weight", StoredDType::bf16, {16, 16}}}),
            "invalid_argument: no tensor of the file is quantized");
  EXPECT_EQ(
      what(foreign(), {{"diecast.format", "int4"}}),
      "not_supported: the metadata has diecast.format = \"int4\", only nvfp4, mxfp8, mxfp4 are "
      "read");
  EXPECT_EQ(what(foreign(), {{"diecast.format", "nvfp4"}, {"diecast.profile", "mine"}}),
            "not_supported: the metadata has diecast.profile = \"mine\", only te, pr546, modelopt, "
            "torchao, te_ref are read");
  const auto with = [](std::string dtypes) {
    return Metadata{{"diecast.format", "nvfp4"},
                    {"diecast.profile", "te"},
                    {"diecast.dtypes", std::move(dtypes)}};
  };
  EXPECT_EQ(what(foreign(), with("[")),
            "file_corrupt: the metadata's diecast.dtypes is no JSON object");
  EXPECT_EQ(
      what(foreign(), with(R"({"a.weight":"I8"})")),
      "file_corrupt: the metadata's diecast.dtypes gives \"a.weight\" no type of F32, F16, BF16");
  EXPECT_EQ(
      what(foreign(), with(R"({"a.weight":16})")),
      "file_corrupt: the metadata's diecast.dtypes gives \"a.weight\" no type of F32, F16, BF16");
  EXPECT_EQ(what(foreign(), with(R"({"b.weight":"F16"})")),
            "file_corrupt: tensor \"b.weight\" of the quantized \"b.weight\" is missing");
  EXPECT_EQ(what(foreign(), with(R"({"a.weight":"F16"})")), "");
  auto lacking = foreign();
  lacking.pop_back();
  EXPECT_EQ(what(lacking, with(R"({"a.weight":"F16"})")),
            "file_corrupt: tensor \"a.weight_scale_2\" of the quantized \"a.weight\" is missing");
  EXPECT_EQ(what(foreign(StoredDType::f8_e8m0), with(R"({"a.weight":"F16"})")),
            "file_corrupt: tensor \"a.weight_scale\" is F8_E8M0, not F8_E4M3");
}

TEST(Plan, DequantizeCopiesWhatAnotherToolQuantizedToAnotherFormat) {
  auto mixed = foreign();
  for (const auto& [module, type] : {std::pair{"mx", StoredDType::u8},
                                     {"mx8", StoredDType::f8_e8m0},
                                     {"one", StoredDType::f8_e4m3}}) {
    mixed.push_back({cat(module, ".weight"), StoredDType::u8, {32, 32}});
    mixed.push_back({cat(module, ".weight_scale"), type, {32, 2}});
  }
  const Plan plan = plan_dequantize(header_of(mixed), DType::bf16).value();
  EXPECT_EQ(output(plan, "a.weight"), "BF16 [32, 64]");
  EXPECT_EQ(output(plan, "a.weight_scale"), "none");
  EXPECT_EQ(output(plan, "mx.weight"), "U8 [32, 32]");
  EXPECT_EQ(output(plan, "mx.weight_scale"), "U8 [32, 2]");
  EXPECT_EQ(output(plan, "one.weight_scale"), "F8_E4M3 [32, 2]");
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{
                "3 tensors are copied, \"mx.weight\" the first: each is quantized, but its scales "
                "are not of NVFP4, MX, FP8 or INT4 in a form that is read"});
}

// All experts in one tensor, as ModelOpt calls them, and compressed-tensors' names.
TEST(Plan, DequantizeSaysWhichWeightsStayQuantized) {
  std::vector<TensorInfo> others = {
      {"m.experts.up_proj", StoredDType::u8, {4, 32, 32}},
      {"m.experts.up_proj_weight_scale", StoredDType::f8_e4m3, {4, 32, 4}},
      {"m.experts.up_proj_weight_scale_2", StoredDType::f32, {4}},
      {"o.weight", StoredDType::f8_e5m2, {32, 32}},
      {"o.weight_scale_inv", StoredDType::f32, {1, 1}},
      {"p.weight_packed", StoredDType::u8, {32, 32}},
      {"p.weight_scale", StoredDType::f8_e4m3, {32, 4}}};
  const auto alone = plan_dequantize(header_of(others), DType::bf16);
  ASSERT_FALSE(alone);
  EXPECT_EQ(
      alone.error().message(),
      "diecast: not_supported: \"m.experts.up_proj\" is quantized, but its scales are not of "
      "NVFP4, MX, FP8 or INT4 in a form that is read\n"
      "  fix: give a file of these forms, with all scales that its weights need, or the model that "
      "it was made of");
  for (const TensorInfo& tensor : foreign()) others.push_back(tensor);
  const Plan plan = plan_dequantize(header_of(others), DType::bf16).value();
  for (const char* name : {"m.experts.up_proj", "o.weight", "p.weight_packed"})
    EXPECT_EQ(planned(plan, name).reason, "stays quantized") << name;
  EXPECT_EQ(planned(plan, "p.weight_scale").reason, "not quantized");
  EXPECT_EQ(plan.notes,
            std::vector<std::string>{
                "3 tensors are copied, \"m.experts.up_proj\" the first: each is quantized, but its "
                "scales are not of NVFP4, MX, FP8 or INT4 in a form that is read"});
}

// A config that says NVFP4 tells that the scale is missing; without one there may be none.
TEST(Plan, Nvfp4WithoutItsGlobalScaleIsRefused) {
  const ModelConfig configs[] = {
      parse_model_config(R"({"quantization_config": {"quant_algo": "NVFP4"}})"),
      parse_model_config(R"({"quantization_config": {"quant_algo": "MIXED_PRECISION",)"
                         R"( "quantized_layers": {"a": {"quant_algo": "W4A16_NVFP4"}}}})"),
      parse_model_config(R"({"quantization_config": {"format": "nvfp4-pack-quantized"}})"),
      parse_model_config(R"({"quantization_config": {"format": "mixed-precision",)"
                         R"( "config_groups": {"g": {"format": "nvfp4-pack-quantized"}}}})")};
  const auto code_of = [](const std::vector<TensorInfo>& tensors, const ModelConfig& model) {
    const auto plan = plan_dequantize(header_of(tensors), DType::bf16, model);
    return plan ? ErrorCode::internal : plan.error().code;
  };
  for (const auto& [codes, global] :
       {std::pair{"b.weight", "b.weight_scale_2"}, {"b.weight_packed", "b.weight_global_scale"}}) {
    auto tensors = foreign();
    tensors.push_back({codes, StoredDType::u8, {32, 32}});
    tensors.push_back({"b.weight_scale", StoredDType::f8_e4m3, {32, 4}});
    for (const ModelConfig& model : configs)
      EXPECT_EQ(code_of(tensors, model), ErrorCode::file_corrupt) << codes;
    EXPECT_EQ(code_of(tensors, {}), ErrorCode::internal);
    tensors.push_back({global, StoredDType::f32, {}});
    for (const ModelConfig& model : configs)
      EXPECT_EQ(code_of(tensors, model), ErrorCode::internal) << codes;
  }
}

// The names are those of ModelOpt, the scales lie in tiles: as linear ones they would give noise.
TEST(Plan, FilesForComfyUiAreRefusedByTheirMarkers) {
  auto tensors = foreign();
  EXPECT_EQ(plan_dequantize(header_of(tensors, {{"_quantization_metadata", "{}"}}), DType::bf16)
                .error()
                .message(),
            "diecast: not_supported: the file is quantized for ComfyUI, as the metadata "
            "_quantization_metadata says, and its scales may lie in tiles\n"
            "  fix: --scale-layout 128x4 reads it, if they do; or give the model that it was made "
            "of");
  tensors.push_back({"a.comfy_quant", StoredDType::u8, {20}});
  EXPECT_EQ(plan_dequantize(header_of(tensors), DType::bf16).error().code,
            ErrorCode::not_supported);
  QuantizeOptions options;
  options.config = EngineConfig::compressed_tensors;
  EXPECT_NE(plan_quantize(header_of(tensors), options).error().message().find("ComfyUI"),
            std::string::npos);
}

TEST(Plan, DequantizeSaysThatAFactorOfInputsIsNotApplied) {
  auto awq = foreign();
  awq.push_back({"a.pre_quant_scale", StoredDType::bf16, {64}});
  const Plan plan = plan_dequantize(header_of(awq), DType::bf16).value();
  EXPECT_EQ(output(plan, "a.weight"), "BF16 [32, 64]");
  EXPECT_EQ(output(plan, "a.pre_quant_scale"), "BF16 [64]");
  EXPECT_EQ(plan.notes, std::vector<std::string>{
                            "\"a.pre_quant_scale\" is copied: a factor of inputs, which the weight "
                            "beside it was made for and still needs"});
}

// Of a file that another tool has quantized in part the rest can be quantized here, and comes back.
TEST(Plan, DequantizeLeavesWhatWasQuantizedBeforeAndSaysSo) {
  auto tensors = foreign();
  tensors.push_back({"b.weight", StoredDType::bf16, {32, 64}});
  const auto header = header_of(tensors);
  QuantizeOptions rest;
  rest.force = true;
  rest.include = {"b.weight"};
  const Plan back = plan_dequantize(plan_quantize(header, rest).value().outputs[0]).value();
  EXPECT_EQ(encode_header(back.outputs[0]), encode_header(header));
  EXPECT_EQ(planned(back, "a.weight").reason, "stays quantized");
  EXPECT_EQ(back.notes,
            std::vector<std::string>{
                "\"a.weight\" is copied: quantized, but not by diecast: dequantize what "
                "is written once more"});
}

TEST(Plan, DequantizeDoesNotSayThatDiecastWroteAnotherToolsFile) {
  const auto plan = plan_dequantize(header_of(foreign(StoredDType::f8_e4m3, {4, 4})), DType::bf16);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().fix, "write or download the checkpoint again");
}

TEST(Plan, DequantizeOnlyToFloatingPoint) {
  const auto plan = plan_dequantize(header_of(foreign()), DType::e4m3);
  ASSERT_FALSE(plan);
  EXPECT_EQ(
      plan.error().message(),
      "diecast: dtype_mismatch: weights are not dequantized to e4m3\n  fix: name bf16, f16 or f32");
}

}  // namespace
}  // namespace diecast::testing
