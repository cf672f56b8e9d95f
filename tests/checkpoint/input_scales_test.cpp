// What engines scale activations by: one value for all weights, or nothing where they leave them
// alone.
#include <checkpoint/sharded_fixture.h>

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

}  // namespace
}  // namespace diecast::testing
