// Folders of quant_method "fp8", as DeepSeek and Qwen publish them, held against vLLM's loader.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/verify.h>

#include <functional>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;
using Shape = std::vector<std::uint64_t>;

const std::string kLayer = "model.layers.0.", kAttention = kLayer + "self_attn.",
                  kShared = kLayer + "mlp.shared_experts.", kBank = kLayer + "mlp.experts";

class Fp8Rules : public Convert {
 protected:
  using Change = std::function<void(TestFile&, Json& config)>;

  // A small DeepSeek with a draft layer, in blocks of 16 x 32.
  Fp8Rules() {
    file_.metadata = {{"format", "pt"}};
    for (const auto& [name, shape] :
         std::map<std::string, Shape>{{"model.embed_tokens", {8, 32}},
                                      {"lm_head", {8, 32}},
                                      {kLayer + "mlp.gate", {2, 32}},
                                      {"model.layers.1.eh_proj", {32, 64}},
                                      {"model.layers.1.shared_head.head", {8, 32}},
                                      {kAttention + "indexer.weights_proj", {2, 32}}})
      set_plain(file_, name, shape);
    for (const auto& [name, shape] : std::map<std::string, Shape>{{"q_a_proj", {32, 32}},
                                                                  {"kv_a_proj_with_mqa", {24, 32}},
                                                                  {"q_b_proj", {32, 32}},
                                                                  {"kv_b_proj", {40, 16}},
                                                                  {"o_proj", {32, 32}}})
      set_fp8(file_, kAttention + name, shape);
    for (const std::string& mlp : {kShared, kBank + ".0.", kBank + ".1."}) {
      for (const char* name : {"gate_proj", "up_proj"}) set_fp8(file_, mlp + name, {16, 32});
      set_fp8(file_, mlp + "down_proj", {32, 16});
    }
    config_ = {
        {"quant_method", "fp8"}, {"activation_scheme", "dynamic"}, {"weight_block_size", {16, 32}}};
  }

  static void set_fp8(TestFile& file, const std::string& module, const Shape& shape) {
    file.tensors[module + ".weight"] = {"F8_E4M3", shape, std::string(shape[0] * shape[1], '8')};
    const Shape grid = {(shape[0] + 15) / 16, (shape[1] + 31) / 32};
    file.tensors[module + ".weight_scale_inv"] =
        floats(grid, std::vector<float>(grid[0] * grid[1], 0.5f));
  }
  static void set_plain(TestFile& file, const std::string& module, const Shape& shape) {
    file.tensors.erase(module + ".weight_scale_inv");
    file.tensors[module + ".weight"] = random_tensor("BF16", shape, 1);
  }
  static void set_plain(TestFile& file, const std::string& module) {
    set_plain(file, module, file.tensors.at(module + ".weight").shape);
  }
  // One scale a matrix, each its own, and one of its inputs.
  static void set_one_scale(TestFile& file, Json& config) {
    config["weight_block_size"] = nullptr;
    config["activation_scheme"] = "static";
    constexpr std::string_view kOld = "_scale_inv";
    float value = 0.25f;
    for (const auto& [name, tensor] : TestFile(file).tensors) {
      if (!name.ends_with(kOld)) continue;
      const std::string weight = name.substr(0, name.size() - kOld.size());
      file.tensors.erase(name);
      file.tensors[weight + "_scale"] = floats({}, {value *= 1.25f});
      file.tensors[weight.substr(0, weight.rfind('.')) + ".input_scale"] = floats({1}, {1.0f});
    }
  }

  Result<VerifyReport> after(const Change& change, const Json& beside = Json::object()) {
    TestFile file = file_;
    Json said = config_, config = beside;
    change(file, said);
    config["num_hidden_layers"] = 1;
    config["quantization_config"] = said;
    std::filesystem::create_directories(model_);
    write_text(model_ + "/model.safetensors", encode(file));
    write_text(model_ + "/config.json", config.dump());
    return verify_checkpoint(Checkpoint::open(model_).value());
  }
  static std::string faults_of(const VerifyReport& report) {
    std::string out;
    for (const VerifyFault& fault : report.faults) out += fault.what + "\n";
    return out;
  }
  void expect_loads(const Change& change) {
    const auto report = after(change);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(faults_of(*report), "");
    EXPECT_TRUE(report->is_known(Engine::vllm));
    EXPECT_FALSE(report->is_known(Engine::sglang));
  }
  void expect_told(const Change& change, const std::string& what, bool to_sglang = false) {
    const auto report = after(change);
    ASSERT_TRUE(report) << report.error().message();
    const std::string all = faults_of(*report);
    EXPECT_NE(all.find(what), std::string::npos) << what << " is not in:\n" << all;
    EXPECT_FALSE(report->loads(Engine::vllm)) << what;
    EXPECT_EQ(report->loads(Engine::sglang), !to_sglang) << "nothing is known of it";
  }

  const std::string model_ = folder_ / "model", o_ = kAttention + "o_proj";
  TestFile file_;
  Json config_;
};

TEST_F(Fp8Rules, ASoundFolderLoads) {
  expect_loads([](TestFile&, Json&) {});
  EXPECT_EQ(after([](TestFile&, Json&) {})->quantized, 14u);
  expect_loads([&](TestFile& file, Json&) {  // as Qwen has them
    file.tensors.at(o_ + ".weight_scale_inv") = random_tensor("BF16", {2, 1}, 7);
  });
  expect_loads(set_one_scale);
  expect_loads([](TestFile& file, Json& config) {
    set_one_scale(file, config);
    config["activation_scheme"] = "dynamic";
    std::erase_if(file.tensors, [](const auto& e) { return e.first.ends_with("input_scale"); });
  });
}

TEST_F(Fp8Rules, PartsAreThoseOfTheConfig) {
  expect_told([&](TestFile& f, Json&) { f.tensors.erase(o_ + ".weight_scale_inv"); },
              "has no \"" + o_ + ".weight_scale_inv\"");
  expect_told(
      [&](TestFile& f, Json&) {
        f.tensors.at(o_ + ".weight_scale_inv").shape = {1, 2};
      },
      "F32 [1, 2] is not F32 [2, 1], as FP8 in blocks of 16x32 has it");
  expect_told(
      [&](TestFile& f, Json&) {
        f.tensors.at(o_ + ".weight_scale_inv") = {"U8", {2, 1}, std::string(2, 127)};
      },
      "U8 [2, 1] is not F32 [2, 1]");
  expect_told([](TestFile&, Json& c) { c.erase("weight_block_size"); }, ".weight_scale\"");
  expect_told(
      [&](TestFile& f, Json& c) {
        set_one_scale(f, c);
        f.tensors.erase(o_ + ".input_scale");
      },
      "has no \"" + o_ + ".input_scale\"");
  expect_told(
      [](TestFile& f, Json&) {
        set_fp8(f, "lm_head", {16, 32});
      },
      "\"lm_head.weight\" is FP8");
}

// vLLM puts the scales of merged matrices behind each other.
TEST_F(Fp8Rules, MergedMatricesHaveWholeBlocksOfRows) {
  const auto rows_of = [](const std::string& module, std::uint64_t rows) {
    return [=](TestFile& file, Json&) { set_fp8(file, module, {rows, 32}); };
  };
  expect_told(rows_of(kShared + "gate_proj", 24), "no whole blocks of 16");
  expect_told(rows_of(kAttention + "q_a_proj", 24), "no whole blocks of 16");
  expect_told(rows_of(kBank + ".1.up_proj", 24), "no whole blocks of 16");
  expect_loads(rows_of(kShared + "up_proj", 24));
}

TEST_F(Fp8Rules, CodesThatAreNoMatrixAreTold) {
  const auto scalar = [](TestFile& file, Json&) {
    file.tensors.erase(kAttention + "q_a_proj.weight");
    file.tensors[kAttention + "q_a_proj.weight_packed"] = {"BF16", {}, "ab"};
  };
  expect_told(scalar, "is not what a weight is in");
}

TEST_F(Fp8Rules, ModulesAreIgnoredByWholeNames) {
  const auto plain = [](std::vector<std::string> modules, const char* key, const Json& list) {
    return [=](TestFile& file, Json& config) {
      for (const std::string& module : modules) set_plain(file, module);
      config[key] = list;
    };
  };
  const std::string gate = kShared + "gate_proj", up = kShared + "up_proj";
  expect_told(plain({o_}, "other", {}), "looks for its scales");
  expect_told(plain({o_}, "ignored_layers", {"*.o_proj"}), "looks for its scales");
  for (const char* key : {"ignored_layers", "modules_to_not_convert"})
    expect_loads(plain({o_}, key, Json::array({o_})));
  expect_told(
      [&](TestFile& file, Json& config) {
        plain({o_}, "modules_to_not_convert", Json::array({o_}))(file, config);
        config["ignored_layers"] = {"lm_head"};
      },
      "looks for its scales");
  expect_told(plain({}, "ignored_layers", Json::array({o_})), "is told to ignore it");
  expect_loads(plain({gate, up}, "ignored_layers", {gate, up}));
  expect_loads(plain({gate, up}, "ignored_layers", Json::array({kShared + "gate_up_proj"})));
  expect_told(plain({}, "ignored_layers", Json::array({gate})), "stops at ");
}

TEST_F(Fp8Rules, ABankOfExpertsIsIgnoredByAnyNameInIt) {
  for (const std::string& entry : {kBank, kBank + ".1.up_proj"})
    expect_loads([&](TestFile& file, Json& config) {
      for (const std::string& expert : {kBank + ".0.", kBank + ".1."})
        for (const char* name : {"gate_proj", "up_proj", "down_proj"})
          set_plain(file, expert + name);
      config["ignored_layers"] = Json::array({entry});
    });
}

TEST_F(Fp8Rules, AConfigThatEnginesStopAtIsTold) {
  expect_told([](TestFile&, Json& c) { c.erase("activation_scheme"); },
              "has no \"activation_scheme\"", true);
  expect_told([](TestFile&, Json& c) { c["activation_scheme"] = "token"; }, "is neither");
  expect_told([](TestFile&, Json& c) { c["activation_scheme"] = "static"; }, "static inputs");
  for (const Json& size : {Json::array({16}), Json::array({0, 32}), Json::array({16, -1}),
                           Json("16"), Json::array({1.5, 32})})
    expect_told([&](TestFile&, Json& c) { c["weight_block_size"] = size; },
                "is not two positive numbers");
}

TEST_F(Fp8Rules, WhatModelsReadByTheirOwnRulesIsNotKnown) {
  const Change none = [](TestFile&, Json&) {};
  const auto own = after(none, {{"model_type", "deepseek_v4"}});
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, ErrorCode::not_supported);
  EXPECT_TRUE(after(none, {{"model_type", "deepseek_v3"}}));
  const auto mixed = after([](TestFile&, Json& c) { c["moe_quant_algo"] = "NVFP4"; });
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().what.find("\"moe_quant_algo\""), std::string::npos);
  const auto fused = after([](TestFile& file, Json&) {
    file.tensors["model.layers.2.mlp.experts.down_proj"] = {
        "F8_E4M3", {2, 4, 4}, std::string(32, '8')};
  });
  ASSERT_TRUE(fused) << fused.error().message();
  EXPECT_FALSE(fused->is_known(Engine::vllm));
}

}  // namespace
}  // namespace diecast::testing
