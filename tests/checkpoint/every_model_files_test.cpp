// The models that people have as files of drawn weights: quantized whole, asked whether engines
// load them, and brought back.
#include <checkpoint/convert_fixture.h>
#include <checkpoint/models/model_files.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/found_weights.h>
#include <diecast/checkpoint/verify/verify.h>
#include <how_many.h>

#include <filesystem>
#include <set>

namespace diecast::testing {
namespace {

using Names = std::set<std::string>;

// The weights that the tensors marked by hand become: of experts in one tensor one each.
Names wanted(const ModelFolder& folder, bool split) {
  Names out;
  for (const ModelTensor& tensor : tensors_of(folder)) {
    const std::size_t role = tensor.name.rfind('.') + 1;
    const bool fused = tensor.name.substr(0, role).ends_with(".experts.");
    if (tensor.name.ends_with(".weight_packed")) out.insert(tensor.name.substr(0, role) + "weight");
    if (!tensor.quantized) continue;
    if (!split || !fused) {
      out.insert(tensor.name);
      continue;
    }
    const bool gated = tensor.name.ends_with(".gate_up_proj");
    for (std::uint64_t expert = 0; expert < tensor.shape[0]; ++expert)
      for (const std::string& each : gated ? Names{"gate_proj", "up_proj"} : Names{"down_proj"})
        out.insert(cat(tensor.name.substr(0, role), expert, ".", each, ".weight"));
  }
  return out;
}

Names quantized_in(const CheckpointHeader& header) {
  Names out;
  for (const FoundWeight& weight : find_weights(header).weights) out.insert(weight.name);
  return out;
}

std::map<std::string, std::vector<std::uint64_t>> shapes_of(const CheckpointHeader& header) {
  std::map<std::string, std::vector<std::uint64_t>> out;
  for (const TensorInfo& tensor : header.tensors) out.emplace(tensor.name, tensor.shape);
  return out;
}

std::map<std::string, std::vector<std::uint64_t>> shapes_of(const ModelFolder& folder) {
  std::map<std::string, std::vector<std::uint64_t>> out;
  for (ModelTensor& tensor : tensors_of(folder)) {
    const std::size_t packed = tensor.name.rfind("_packed");
    if (packed != std::string::npos)
      out.emplace(tensor.name.substr(0, packed),
                  std::vector<std::uint64_t>{tensor.shape[0], tensor.shape[1] * 8});
    else if (!tensor.gone)
      out.emplace(tensor.name, tensor.shape);
  }
  return out;
}

class EveryModelsFiles : public Convert {
 protected:
  // Quantizes, asks whether these engines load it, and dequantizes; the weights that are quantized.
  Names there_and_back(const ModelFolder& folder, const QuantizeOptions& options,
                       const std::vector<Engine>& engines = {Engine::vllm, Engine::sglang}) {
    for (const std::string& path : {model_, small_, home_}) std::filesystem::remove_all(path);
    write_model(folder, ++seed_, model_);
    const auto report = quantize_with_scalars(model_, small_, options);
    EXPECT_TRUE(report) << report.error().message();
    if (!report) return {};
    const Checkpoint small = Checkpoint::open(small_).value();
    const VerifyReport verdict = verify_checkpoint(small).value();
    for (const Engine engine : engines)
      EXPECT_EQ(verdict.loads(engine) && verdict.is_known(engine), folder.loads)
          << engine_name(engine) << ": "
          << (verdict.faults.empty() ? "no fault" : verdict.faults[0].what);
    const auto back = dequantize_with_scalars(small_, home_);
    EXPECT_TRUE(back) << back.error().message();
    if (back) {
      EXPECT_EQ(shapes_of(Checkpoint::open(home_)->header()), shapes_of(folder));
    }
    return quantized_in(small.header());
  }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    home_ = folder_ / "home";
  std::uint64_t seed_ = 0;
};

TEST_F(EveryModelsFiles, BecomeNvfp4AndComeBack) {
  for (const ModelFolder& folder : model_folders()) {
    if (!folder.refused.empty()) continue;
    SCOPED_TRACE(folder.name);
    const bool split = folder.name != "gpt_oss";  // which keeps its experts in one tensor
    EXPECT_EQ(there_and_back(folder, {}), wanted(folder, split));
  }
}

TEST_F(EveryModelsFiles, BecomeCompressedTensorsWeightsAloneAndComeBack) {
  QuantizeOptions options;
  options.format = WeightFormat::nvfp4_w4a16;
  options.config = EngineConfig::compressed_tensors;
  for (const ModelFolder& folder : model_folders()) {
    if (!folder.refused.empty() || folder.name == "gpt_oss") continue;
    SCOPED_TRACE(folder.name);
    EXPECT_EQ(there_and_back(folder, options), wanted(folder, true));
  }
}

// Blocks of 32 do not divide all rows, so some weights stay.
TEST_F(EveryModelsFiles, BecomeMxfp8AndComeBack) {
  const std::size_t step = how_many<std::size_t>(8, 1, 1);
  const std::vector<ModelFolder> folders = model_folders();
  for (std::size_t i = 0; i < folders.size(); i += step) {
    if (!folders[i].refused.empty() || folders[i].name == "gpt_oss") continue;
    SCOPED_TRACE(folders[i].name);
    const Names all = wanted(folders[i], true);
    for (const auto& [config, engine] : {std::pair{EngineConfig::modelopt, Engine::vllm},
                                         {EngineConfig::sglang, Engine::sglang}}) {
      QuantizeOptions options;
      options.format = WeightFormat::mxfp8;
      options.config = config;
      const Names some = there_and_back(folders[i], options, {engine});
      EXPECT_FALSE(some.empty());
      EXPECT_TRUE(std::ranges::includes(all, some));
    }
  }
}

}  // namespace
}  // namespace diecast::testing
