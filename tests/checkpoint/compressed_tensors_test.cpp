// NVFP4 under compressed-tensors' names: the bits of ModelOpt's but for reciprocals.
#include <checkpoint/models/model_plan.h>
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/ignore_list.h>

#include <cmath>
#include <regex>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;

class CompressedTensors : public Convert {
 protected:
  CompressedTensors() {
    write_shards(model_, sample_shards());
    write_text(model_ + "/config.json", R"({"num_hidden_layers": 1})");
  }
  // All tensors of the output.
  std::map<std::string, TestTensor> written(const QuantizeOptions& options) {
    std::filesystem::remove_all(small_);
    const auto report = quantize_with_scalars(model_, small_, options);
    EXPECT_TRUE(report) << report.error().message();
    return tensors_of_folder(small_);
  }
  static std::map<std::string, TestTensor> tensors_of_folder(const std::string& folder) {
    std::map<std::string, TestTensor> out;
    for (auto& [name, file] : read_weights(folder)) out.merge(file.tensors);
    return out;
  }
  static Shards read_weights(const std::string& folder) {
    Shards out;
    for (const std::string& name : tree(folder))
      if (name.ends_with(".safetensors")) out[name] = decode(text_of(folder + "/" + name));
    return out;
  }
  static QuantizeOptions packed() {
    QuantizeOptions options;
    options.config = EngineConfig::compressed_tensors;
    options.input_scale = 0.25f;
    return options;
  }
  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    home_ = folder_ / "home";
};

TEST_F(CompressedTensors, HaveTheBitsOfModelOptAndReciprocals) {
  QuantizeOptions plain;
  plain.input_scale = 0.25f;
  const auto want = written(plain), got = written(packed());
  EXPECT_EQ(got.size(), want.size());
  for (const std::string module :
       {"model.layers.0.mlp.gate_proj", "model.layers.0.mlp.down_proj"}) {
    EXPECT_EQ(got.at(module + ".weight_packed"), want.at(module + ".weight"));
    EXPECT_EQ(got.at(module + ".weight_scale"), want.at(module + ".weight_scale"));
    const float scale = floats_of(want.at(module + ".weight_scale_2"))[0];
    EXPECT_EQ(got.at(module + ".weight_global_scale"), floats({1}, {1.0f / scale}));
    EXPECT_EQ(got.at(module + ".input_global_scale"), floats({1}, {4.0f}));
  }
  const Json said = Json::parse(text_of(small_ + "/config.json"))["quantization_config"];
  EXPECT_EQ(said["quant_method"], "compressed-tensors");
  EXPECT_EQ(said["format"], "nvfp4-pack-quantized");
  const Json group = said["config_groups"]["group_0"];
  EXPECT_EQ(group["weights"]["strategy"], "tensor_group");
  EXPECT_EQ(group["weights"]["group_size"], 16);
  EXPECT_EQ(group["input_activations"]["dynamic"], "local");
  EXPECT_FALSE(std::filesystem::exists(small_ + "/hf_quant_config.json"));
}

TEST_F(CompressedTensors, WithoutActivationsHaveNoInputScale) {
  QuantizeOptions options = packed();
  options.format = WeightFormat::nvfp4_w4a16;
  for (const auto& [name, tensor] : written(options))
    EXPECT_EQ(name.find("input"), std::string::npos) << name;
  const Json said = Json::parse(text_of(small_ + "/config.json"))["quantization_config"];
  EXPECT_TRUE(said["config_groups"]["group_0"]["input_activations"].is_null());
}

TEST_F(CompressedTensors, GoThereAndBack) {
  written({});
  ASSERT_TRUE(dequantize_with_scalars(small_, home_));
  const auto want = tensors_of_folder(home_);
  std::filesystem::remove_all(home_);
  written(packed());
  ASSERT_TRUE(dequantize_with_scalars(small_, home_));
  EXPECT_EQ(tree(home_), tree(model_));
  const auto got = tensors_of_folder(home_);
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) {
    ASSERT_EQ(got.at(name).shape, tensor.shape);
    if (tensor.dtype != "BF16") continue;
    for (std::size_t i = 0; i < tensor.bytes.size() / 2; ++i) {
      const float value = element(as_bytes(tensor.bytes), DType::bf16, i);
      EXPECT_LE(std::abs(element(as_bytes(got.at(name).bytes), DType::bf16, i) - value),
                std::abs(value) / 128)  // one rounding of BF16
          << name;
    }
  }
  // Of another tool, which says nothing of types.
  TestFile foreign{tensors_of_folder(small_), {{"format", "pt"}}};
  write_text(in_, encode(foreign));
  EXPECT_EQ(dequantize_with_scalars(in_, back_).error().code, ErrorCode::value_missing);
  ASSERT_TRUE(dequantize_with_scalars(in_, back_, DType::f32));
  const auto back = decode(text_of(back_)).tensors;
  EXPECT_EQ(back.at("model.layers.0.mlp.gate_proj.weight").shape,
            (std::vector<std::uint64_t>{48, 32}));
  EXPECT_EQ(back.count("model.layers.0.mlp.gate_proj.input_global_scale"), 0u);
  foreign.tensors.at("model.layers.0.mlp.gate_proj.weight_global_scale") = floats({2}, {1, 1});
  write_text(in_, encode(foreign));
  EXPECT_EQ(dequantize_with_scalars(in_, back_, DType::f32).error().code, ErrorCode::file_corrupt);
}

// What another tool has quantized: all tensors of this output in one file, without our metadata.
TEST_F(CompressedTensors, AndModelOptsBecomeEachOther) {
  QuantizeOptions plain;
  plain.input_scale = 0.25f;
  const auto modelopt = written(plain), compressed = written(packed());
  const auto converted = [&](const std::map<std::string, TestTensor>& from,
                             const QuantizeOptions& options, std::uint64_t piece) {
    ConvertOptions pieces;
    pieces.piece_bytes = piece;
    return quantized({from, {{"format", "pt"}}}, options, pieces);
  };
  QuantizeOptions to;
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{64}}) {
    to.config = EngineConfig::compressed_tensors;
    const TestFile there = converted(modelopt, to, piece);
    EXPECT_EQ(there.tensors, compressed);
    EXPECT_EQ(there.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
    to.config = EngineConfig::modelopt;
    auto back = converted(compressed, to, piece).tensors;
    ASSERT_EQ(back.size(), modelopt.size());
    for (const auto& [name, tensor] : modelopt) {
      if (!name.ends_with("weight_scale_2")) {
        EXPECT_EQ(back.at(name), tensor) << name;
        continue;
      }
      const float want = floats_of(tensor)[0], got = floats_of(back.at(name))[0];
      EXPECT_LE(std::abs(got - want), want * 0x1p-23f) << "two reciprocals, each rounded";
    }
  }
  // In its own form it is quantized already; a scale without a reciprocal is told.
  write_text(in_, encode({modelopt, {{"format", "pt"}}}));
  EXPECT_EQ(quantize_with_scalars(in_, back_, to).error().code, ErrorCode::not_supported);
  auto bad = compressed;
  bad.at("model.layers.0.mlp.up_proj.weight_global_scale") = floats({1}, {0.0f});
  write_text(in_, encode({bad, {{"format", "pt"}}}));
  const auto refused = quantize_with_scalars(in_, back_, to);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::nonfinite_values) << refused.error().message();
}

// A folder that diecast wrote, with its metadata and configs.
TEST_F(CompressedTensors, AndModelOptsOfOursBecomeEachOther) {
  QuantizeOptions plain;
  plain.input_scale = 0.25f;
  for (const auto& [from, to] : {std::pair(plain, packed()), std::pair(packed(), plain)}) {
    std::filesystem::remove_all(home_);
    const auto before = written(from);
    const std::string other = folder_ / "other";
    std::filesystem::remove_all(other);
    QuantizeOptions names;
    names.config = to.config.value_or(EngineConfig::modelopt);
    const auto report = quantize_with_scalars(small_, other, names);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_TRUE(dequantize_with_scalars(other, home_));
    EXPECT_EQ(tree(home_), tree(model_));
    const auto there = tensors_of_folder(other), want = written(to);
    EXPECT_EQ(tree(other), tree(small_));
    EXPECT_EQ(text_of(other + "/config.json"), text_of(small_ + "/config.json"));
    for (const auto& [name, tensor] : want) {
      if (name.ends_with("weight_scale_2")) continue;  // two reciprocals, each rounded
      EXPECT_EQ(there.at(name), tensor) << name;
    }
    for (const auto& [name, file] : read_weights(other))
      EXPECT_EQ(file.metadata, read_weights(small_).at(name).metadata);
    EXPECT_EQ(
        quantize_with_scalars(small_, other, to.config ? packed() : QuantizeOptions()).error().code,
        ErrorCode::invalid_argument)
        << "in its own form it is quantized already";
  }
}

// A weight that is left out becomes the numbers that it stands for.
TEST_F(CompressedTensors, ThatAreLeftOutBecomeBf16) {
  write_text(in_, encode({written(packed()), {{"format", "pt"}}}));
  QuantizeOptions to;
  to.config = EngineConfig::modelopt;
  to.exclude = {"*.down_proj.*"};
  ASSERT_TRUE(quantize_with_scalars(in_, out_, to));
  ASSERT_TRUE(dequantize_with_scalars(in_, back_, DType::bf16));
  const std::string down = "model.layers.0.mlp.down_proj.weight";
  EXPECT_EQ(decode(text_of(out_)).tensors.at(down), decode(text_of(back_)).tensors.at(down));
  // Of ours the metadata then no longer call it quantized.
  std::filesystem::remove_all(home_);
  ASSERT_TRUE(quantize_with_scalars(small_, home_, to));
  const std::string back = folder_ / "numbers";
  const auto numbers = dequantize_with_scalars(home_, back);
  ASSERT_TRUE(numbers) << numbers.error().message();
  EXPECT_EQ(tensors_of_folder(back).at(down).dtype, "BF16");
}

TEST_F(CompressedTensors, HaveNoFormForSeveralGlobalScales) {
  QuantizeOptions options = packed();
  options.row_scaled = true;
  EXPECT_EQ(quantize_with_scalars(model_, small_, options).error().code, ErrorCode::not_supported);
  options = packed();
  options.include = {"*.experts.weight"};
  const auto report = quantize_with_scalars(model_, small_, options);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message().find("--config modelopt"), std::string::npos)
      << report.error().message();
}

// compressed-tensors asks whether a name is an entry, or begins with a match of an expression.
bool ignored(const std::vector<std::string>& patterns, const std::string& module) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    if (!pattern.starts_with("re:")) return pattern == module;
    return std::regex_search(module, std::regex(pattern.substr(3)),
                             std::regex_constants::match_continuous);
  });
}

TEST(IgnorePatterns, MatchWhatIsNotQuantizedOfEveryModel) {
  for (const ModelFolder& folder : model_folders()) {
    if (!folder.refused.empty()) continue;
    SCOPED_TRACE(folder.name);
    const EngineModules modules = engine_modules(model_plan(folder).value());
    const auto patterns = ignore_patterns(modules);
    EXPECT_LT(patterns.size(), 30u) << join(patterns, " ");
    for (const std::string& module : modules.quantized)
      EXPECT_FALSE(ignored(patterns, module)) << module << ": " << join(patterns, " ");
    for (const std::string& module : modules.others)
      EXPECT_TRUE(ignored(patterns, module)) << module << ": " << join(patterns, " ");
  }
}

}  // namespace
}  // namespace diecast::testing
