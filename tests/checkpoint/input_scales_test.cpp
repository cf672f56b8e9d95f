// What engines scale activations by: one value for all weights, or nothing where they leave them
// alone.
#include <checkpoint/plan_fixture.h>
#include <checkpoint/sharded_fixture.h>
#include <diecast/checkpoint/input_scales.h>

#include <algorithm>
#include <limits>

namespace diecast::testing {
namespace {

using Json = nlohmann::json;

class InputScales : public Convert {
 protected:
  InputScales() {
    write_shards(model_, sample_shards());
    write_text(model_ + "/config.json", "{}");
  }
  // The values of all input scales of matrices.
  std::vector<std::string> written(const QuantizeOptions& options) {
    std::filesystem::remove_all(small_);
    EXPECT_TRUE(quantize_with_scalars(model_, small_, options));
    std::vector<std::string> out;
    for (const std::string& name : tree(small_)) {
      if (!name.ends_with(".safetensors")) continue;
      for (const auto& [tensor, value] : decode(text_of(small_ + "/" + name)).tensors)
        if (tensor.ends_with("input_scale") && value.shape.empty()) out.push_back(value.bytes);
    }
    return out;
  }
  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    home_ = folder_ / "home";
};

TEST_F(InputScales, AreAsGiven) {
  QuantizeOptions options;
  EXPECT_EQ(written(options), std::vector<std::string>(3, scalar_bytes(1.0f)));
  options.input_scale = 0.25f;
  EXPECT_EQ(written(options), std::vector<std::string>(3, scalar_bytes(0.25f)));
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    options.input_scale = scale;
    EXPECT_EQ(quantize_with_scalars(model_, home_, options).error().code,
              ErrorCode::invalid_argument);
  }
}

TEST_F(InputScales, AreNotWrittenWhereEnginesLeaveActivationsAlone) {
  QuantizeOptions options;
  options.format = WeightFormat::nvfp4_w4a16;
  EXPECT_EQ(written(options), std::vector<std::string>{});
  const Json said = Json::parse(text_of(small_ + "/config.json"))["quantization_config"];
  EXPECT_EQ(said["quant_algo"], "W4A16_NVFP4");
  EXPECT_FALSE(said["config_groups"]["group_0"].contains("input_activations"));
  const Json alone = Json::parse(text_of(small_ + "/hf_quant_config.json"))["quantization"];
  EXPECT_EQ(alone["quant_algo"], "W4A16_NVFP4");
  ASSERT_TRUE(dequantize_with_scalars(small_, home_));
  EXPECT_EQ(tree(home_), tree(model_));
}

// What a file of this name and text says, or the error.
class InputScalesFile : public InputScales {
 protected:
  Result<diecast::InputScales> read(const std::string& text, const std::string& name = "s.json") {
    write_text(folder_ / name, text);
    return read_input_scales(folder_ / name);
  }
  ErrorCode code(const std::string& text) {
    const auto scales = read(text);
    EXPECT_FALSE(scales) << text;
    return scales ? ErrorCode::internal : scales.error().code;
  }
};

TEST_F(InputScalesFile, SaysByItsKeysWhatItsNumbersAre) {
  const auto of_json =
      read(R"({"a.input_amax": 2688, "b.input_scale": 0.5, "c.input_global_scale": 4})");
  ASSERT_TRUE(of_json) << of_json.error().message();
  EXPECT_EQ(*of_json, (diecast::InputScales{{"a", 1.0f}, {"b", 0.5f}, {"c", 0.25f}}));
  TestFile file;
  file.tensors = {{"a.input_amax", floats({1}, {2688})},
                  {"b.input_scale", {"BF16", {}, std::string("\0\x3F", 2)}},
                  {"c.input_global_scale", floats({}, {4})}};
  EXPECT_EQ(read(encode(file), "s.safetensors").value(), *of_json);
  for (const char* text :
       {"", "[]", "{\"a.input_scale\": 1", R"({"a.input_scale": "1"})", R"({"a.input_scale": [1]})",
        R"({"a.input_scale": {}})", R"({"a.input_scale": 1, "a.input_scale": 1})"})
    EXPECT_EQ(code(text), ErrorCode::file_corrupt) << text;
  for (const char* text :
       {R"({"a": 1})", R"({"a.scale": 1})", R"({"a.input_scale": 0})", R"({"a.input_amax": -1})",
        R"({"a.input_global_scale": 0})", R"({"a.input_scale": 1e39})",
        R"({"a.input_global_scale": 1e300})", R"({"a.input_scale": 1, "a.input_amax": 1})"})
    EXPECT_EQ(code(text), ErrorCode::invalid_argument) << text;
  file.tensors["d.input_scale"] = floats({2}, {1, 1});
  EXPECT_EQ(read(encode(file), "s.safetensors").error().code, ErrorCode::dtype_mismatch);
  EXPECT_EQ(read_input_scales(folder_ / "none.json").error().code, ErrorCode::file_not_found);
}

TEST_F(InputScalesFile, GivesEachWeightItsOwnAndFamiliesTheLargest) {
  QuantizeOptions options;
  options.input_scale = 8.0f;
  options.input_scales = {{"l.0.mlp.gate_proj", 0.5f},
                          {"l.0.mlp.up_proj", 2.0f},
                          {"l.0.mlp.experts.1.up_proj", 4.0f},
                          {"l.0.elsewhere", 16.0f}};
  const auto header =
      weights({"l.0.mlp.gate_proj.weight", "l.0.mlp.up_proj.weight",
               "l.0.mlp.experts.0.gate_proj.weight", "l.0.mlp.experts.0.up_proj.weight",
               "l.0.mlp.experts.1.gate_proj.weight", "l.0.mlp.experts.1.up_proj.weight"});
  const Plan plan = plan_quantize(header, options).value();
  const std::map<std::string, float> want = {
      {"l.0.mlp.gate_proj", 2.0f},           {"l.0.mlp.up_proj", 2.0f},
      {"l.0.mlp.experts.0.gate_proj", 8.0f}, {"l.0.mlp.experts.0.up_proj", 8.0f},
      {"l.0.mlp.experts.1.gate_proj", 4.0f}, {"l.0.mlp.experts.1.up_proj", 4.0f}};
  for (const auto& [module, scale] : want)
    EXPECT_EQ(planned(plan, module + ".weight").input_scale, scale) << module;
  EXPECT_EQ(plan.notes,
            (std::vector<std::string>{
                "the input_scale of 4 weights was given, for themselves or what engines fuse them "
                "with; that of 2 is 8",
                "1 of 4 input scales are of no weight that is quantized to NVFP4, "
                "\"l.0.elsewhere\" for one"}));
  options.input_scales = {{"elsewhere", 1.0f}};
  EXPECT_EQ(plan_quantize(header, options).error().code, ErrorCode::invalid_argument);
  options.input_scales = {{"l.0.mlp.up_proj", 1.0f}};
  options.format = WeightFormat::nvfp4_w4a16;
  EXPECT_EQ(plan_quantize(header, options).error().code, ErrorCode::invalid_argument);
}

TEST_F(InputScalesFile, IsWhatIsWritten) {
  QuantizeOptions options;
  options.input_scales = {{"model.layers.0.mlp.down_proj", 0.125f}};
  std::vector<std::string> got = written(options);
  std::ranges::sort(got);
  EXPECT_EQ(got, (std::vector<std::string>{scalar_bytes(0.125f), scalar_bytes(1.0f),
                                           scalar_bytes(1.0f)}));
}

}  // namespace
}  // namespace diecast::testing
