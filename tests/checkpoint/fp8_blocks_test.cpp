// The size of the blocks that FP8 weights have scales for, as configs say it.
#include <checkpoint/plan_fixture.h>
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

namespace diecast::testing {
namespace {

// A compressed-tensors folder: 200 rows of ones, with scales for two blocks of rows that are as
// many in blocks of 128 rows.
class Fp8Blocks : public Convert {
 protected:
  using Json = nlohmann::json;
  const std::string kUp = "model.layers.0.mlp.up_proj";
  Fp8Blocks() {
    TestFile file, plain;
    file.tensors[kUp + ".weight"] = {"F8_E4M3", {200, 32}, std::string(200 * 32, '8')};  // 1.0
    file.tensors[kUp + ".weight_scale"] = floats({2, 1}, {1, 2});
    std::vector<float> values(200 * 32, 1);
    std::fill(values.begin() + 100 * 32, values.end(), 2.0f);
    plain.tensors[kUp + ".weight"] = floats({200, 32}, values);
    for (const std::string& folder : {model_, plain_}) std::filesystem::create_directories(folder);
    write_text(model_ + "/model.safetensors", encode(file));
    write_text(plain_ + "/model.safetensors", encode(plain));
    write_text(plain_ + "/config.json", R"({"num_hidden_layers": 1})");
  }
  // A group with blocks for each of these sizes, and one with a scale a row.
  void say_in_groups(const std::string& sizes) {
    Json said = {{"quant_method", "compressed-tensors"}, {"format", "float-quantized"}};
    for (const Json& size : Json::parse(sizes)) {
      const Json weights = {{"num_bits", 8}, {"strategy", "block"}, {"block_structure", size}};
      const std::string name = cat("group_", said["config_groups"].size());
      said["config_groups"][name] = {{"targets", {"Linear"}}, {"weights", weights}};
    }
    said["config_groups"]["rows"] = {{"weights", {{"strategy", "channel"}}}};
    say(said);
  }
  void say(const Json& quantization_config) {
    write_text(model_ + "/config.json",
               Json{{"num_hidden_layers", 1}, {"quantization_config", quantization_config}}.dump());
  }
  Result<TestFile> decoded() {
    DIECAST_CHECK(dequantize_with_scalars(model_, next(), DType::f32));
    return decode(text_of(made_ + "/model.safetensors"));
  }
  Result<TestFile> quantized(const std::string& folder) {
    DIECAST_CHECK(quantize_with_scalars(folder, next(), {}));
    return decode(text_of(made_ + "/model.safetensors"));
  }
  std::string next() { return made_ = folder_ / cat("made_", ++count_); }
  const std::string model_ = folder_ / "model", plain_ = folder_ / "plain";
  std::string made_;
  int count_ = 0;
};

TEST_F(Fp8Blocks, HaveTheSizeThatTheGroupsSay) {
  const TestFile plain = decode(text_of(plain_ + "/model.safetensors"));
  const auto want = quantized(plain_);
  ASSERT_TRUE(want) << want.error().message();
  for (const char* sizes : {"[[100, 32]]", "[[100, 32], [100, 32]]", R"(["100x32"])"}) {
    SCOPED_TRACE(sizes);
    say_in_groups(sizes);
    const auto values = decoded(), small = quantized(model_);
    ASSERT_TRUE(values && small);
    EXPECT_EQ(values->tensors, plain.tensors);
    EXPECT_EQ(small->tensors, want->tensors);
  }
  say_in_groups("[[128, 128]]");
  EXPECT_NE(decoded()->tensors, plain.tensors) << "the grid alone does not tell";
}

TEST_F(Fp8Blocks, OfSizesThatAreNotReadAreRefused) {
  const std::string malformed = " of the model's config has a block_structure that is not two";
  for (const auto& [sizes, why] : std::map<std::string, std::string>{
           {"[[100, 32], [128, 128]]",
            "\"group_1\" of the model's config has blocks of 128x128, and \"group_0\" of 100x32"},
           {"[null]", malformed},
           {"[[100, 0]]", malformed},
           {"[[100, 32, 1]]", malformed},
           {R"(["100x"])", malformed},
           {"[[128, 128], -1]", "\"group_1\"" + malformed}}) {
    SCOPED_TRACE(sizes);
    say_in_groups(sizes);
    for (const auto& got : {decoded(), quantized(model_)}) {
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, ErrorCode::not_supported);
      EXPECT_NE(got.error().what.find(why), std::string::npos) << got.error().what;
      EXPECT_FALSE(std::filesystem::exists(made_));
    }
  }
}

TEST_F(Fp8Blocks, OfAWeightBlockSizeThatIsNotReadAreRefused) {
  const auto say_size = [&](const std::string& size) {
    say({{"quant_method", "fp8"}, {"weight_block_size", Json::parse(size)}});
  };
  say_size("[100, 32]");
  EXPECT_EQ(decoded()->tensors, decode(text_of(plain_ + "/model.safetensors")).tensors);
  say_size("null");  // as if nothing were said
  EXPECT_TRUE(decoded());
  for (const char* size : {"128", "[128]", "[128, 0]", "[128, 0.5]", R"([128, "128"])", "{}"}) {
    SCOPED_TRACE(size);
    say_size(size);
    for (const auto& got : {decoded(), quantized(model_)}) {
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().message(),
                "diecast: not_supported: the size of the blocks of \"" + kUp +
                    ".weight\" is not known: the model's config has a weight_block_size that is "
                    "not two positive numbers\n"
                    "  fix: give a model whose config.json says one size, [rows, columns], as "
                    "weight_block_size or as block_structure in all groups that have blocks");
      EXPECT_FALSE(std::filesystem::exists(made_));
    }
  }
}

}  // namespace
}  // namespace diecast::testing
