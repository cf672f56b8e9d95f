// Every form that quantize writes: what is written breaks no rule, and each planted fault is told
// by name with its fix.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/verify.h>

#include <functional>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;

const std::string kAttention = "model.layers.0.self_attn.";

TestFile small_model() {
  TestFile file;
  file.metadata = {{"format", "pt"}};
  std::uint64_t seed = 0;
  const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
    file.tensors[name] = random_tensor("BF16", std::move(shape), ++seed);
  };
  add("model.embed_tokens.weight", {8, 32});
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    add(cat(kAttention, name, ".weight"), {32, 32});
  add("model.layers.0.mlp.gate.weight", {2, 32});
  for (const char* expert : {"0", "1"})
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      add(cat("model.layers.0.mlp.experts.", expert, ".", name, ".weight"), {32, 32});
  add("lm_head.weight", {8, 32});
  return file;
}

TestFile small_gpt_oss() {
  TestFile file;
  file.metadata = {{"format", "pt"}};
  file.tensors["model.embed_tokens.weight"] = random_tensor("BF16", {8, 32}, 1);
  file.tensors[kAttention + "q_proj.weight"] = random_tensor("BF16", {32, 32}, 2);
  file.tensors["model.layers.0.mlp.experts.gate_up_proj"] = random_tensor("BF16", {2, 32, 64}, 3);
  file.tensors["model.layers.0.mlp.experts.down_proj"] = random_tensor("BF16", {2, 32, 32}, 4);
  file.tensors["model.layers.0.mlp.experts.down_proj_bias"] = random_tensor("BF16", {2, 32}, 5);
  return file;
}

// A form, which engines read it, and what the parts of its q_proj are called.
struct Written {
  const char* name;
  std::optional<WeightFormat> format;
  std::optional<EngineConfig> config;
  std::string engines, codes, scales, global;
  bool mixed = false, gpt_oss = false;
};

std::vector<Written> all_forms() {
  using F = WeightFormat;
  using C = EngineConfig;
  const std::string q = kAttention + "q_proj.", bank = "model.layers.0.mlp.experts.down_proj";
  const std::string w = q + "weight", p = q + "weight_packed", s = q + "weight_scale";
  const std::string g = q + "weight_global_scale";
  return {{"nvfp4", F::nvfp4, C::modelopt, "yes yes ", w, s, q + "weight_scale_2"},
          {"w4a16", F::nvfp4_w4a16, C::modelopt, "yes yes ", w, s, q + "weight_scale_2"},
          {"packed", F::nvfp4, C::compressed_tensors, "yes yes ", p, s, g},
          {"packed w4a16", F::nvfp4_w4a16, C::compressed_tensors, "yes yes ", p, s, g},
          {"mxfp8", F::mxfp8, C::modelopt, "yes yes ", w, s, ""},
          {"mxfp8 ct", F::mxfp8, C::compressed_tensors, "yes no ", w, s, ""},
          {"mxfp8 sglang", F::mxfp8, C::sglang, "no yes ", w, q + "weight_scale_inv", ""},
          {"mxfp4", F::mxfp4, C::compressed_tensors, "yes no ", p, s, ""},
          {"mixed", F::nvfp4, C::modelopt, "yes no ", w, s, "", true},
          {"gpt-oss", {}, {}, "yes yes ", bank + "_blocks", bank + "_scales", "", false, true}};
}

class VerifyForms : public Convert {
 protected:
  void write(const Written& form) {
    std::filesystem::remove_all(model_);
    std::filesystem::remove_all(small_);
    std::filesystem::create_directories(model_);
    write_text(model_ + "/model.safetensors",
               encode(form.gpt_oss ? small_gpt_oss() : small_model()));
    Json config = {{"num_hidden_layers", 1}, {"num_experts", 2}};
    if (form.gpt_oss) config["model_type"] = "gpt_oss";
    write_text(model_ + "/config.json", config.dump());
    QuantizeOptions options;
    options.format = form.format;
    options.config = form.config;
    if (form.mixed) options.mxfp8 = {"*.self_attn.*"};
    const auto report = quantize_with_scalars(model_, small_, options);
    ASSERT_TRUE(report) << report.error().message();
  }

  // What is told of the written folder after this change to its tensors and its config.
  VerifyReport after(const Written& form, const std::function<void(TestFile&, Json&)>& change) {
    TestFile file = decode(text_of(small_ + "/model.safetensors"));
    Json config = Json::parse(text_of(small_ + "/config.json"));
    change(file, config["quantization_config"]);
    std::filesystem::create_directories(changed_);
    write_text(changed_ + "/model.safetensors", encode(file));
    write_text(changed_ + "/config.json", config.dump());
    const auto report = verify_checkpoint(Checkpoint::open(changed_).value());
    EXPECT_TRUE(report) << form.name << ": " << report.error().message();
    return report ? *report : VerifyReport{};
  }

  // One of the faults says this, has a fix, and stops every engine that reads the form.
  void expect_told(const Written& form, const std::function<void(TestFile&, Json&)>& change,
                   const std::string& name, const std::string& what) {
    const VerifyReport report = after(form, change);
    const auto says = [&](const VerifyFault& fault) {
      return fault.what.find(name) != std::string::npos &&
             fault.what.find(what) != std::string::npos && !fault.fix.empty();
    };
    EXPECT_TRUE(std::ranges::any_of(report.faults, says)) << form.name << ": " << what;
    for (const Engine engine : kEngines) EXPECT_FALSE(report.loads(engine)) << form.name << what;
  }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    changed_ = folder_ / "changed";
};

TEST_F(VerifyForms, FindNothingWrongInWhatQuantizeWrites) {
  for (const Written& form : all_forms()) {
    SCOPED_TRACE(form.name);
    write(form);
    const VerifyReport report = after(form, [](TestFile&, Json&) {});
    std::string engines;
    for (const Engine engine : kEngines) engines += report.loads(engine) ? "yes " : "no ";
    EXPECT_EQ(engines, form.engines);
    EXPECT_EQ(report.quantized, form.gpt_oss ? 2u : 10u);
    for (const VerifyFault& fault : report.faults)
      EXPECT_TRUE(fault.what.starts_with("the weights are ")) << fault.what;
  }
}

// As MiniMax publishes it: SGLang's method, and ModelOpt's names.
TEST_F(VerifyForms, TakeMxfp8OfTwoNames) {
  const Written modelopt = all_forms()[4], sglang = all_forms()[6];
  write(sglang);
  const auto rename = [](TestFile& file, Json& config) {
    TestFile other;
    for (auto& [name, tensor] : file.tensors)
      other.tensors[name.ends_with("_inv") ? name.substr(0, name.size() - 4) : name] = tensor;
    file.tensors = other.tensors;
    config["ignored_layers"] = config["modules_to_not_convert"];
  };
  EXPECT_TRUE(after(sglang, rename).faults.empty());
  expect_told(
      sglang,
      [&](TestFile& file, Json& config) {
        rename(file, config);
        file.tensors.erase(modelopt.scales);
      },
      modelopt.scales, "has no ");
}

TEST_F(VerifyForms, TellPartsThatAreNotThoseOfTheForm) {
  for (const Written& form : all_forms()) {
    write(form);
    expect_told(
        form, [&](TestFile& f, Json&) { f.tensors.at(form.codes).dtype = "I8"; }, form.codes, "");
    expect_told(
        form,
        [&](TestFile& f, Json&) {
          auto& shape = f.tensors.at(form.scales).shape;
          std::swap(shape.front(), shape.back());
        },
        form.scales, " is not ");
    expect_told(
        form, [&](TestFile& f, Json&) { f.tensors.erase(form.scales); }, form.scales, "has no ");
    expect_told(
        form, [&](TestFile& f, Json&) { f.tensors.erase(form.codes); },
        form.scales.substr(0, form.scales.rfind('.')), "is a scale of no quantized weight");
    if (form.global.empty()) continue;
    expect_told(
        form, [&](TestFile& f, Json&) { f.tensors.at(form.global) = floats({1}, {0.5f}); },
        "_proj.weight", "has other global scales");
    expect_told(
        form, [&](TestFile& f, Json&) { f.tensors.at(form.global) = floats({1}, {-1.0f}); },
        form.global, "is not a positive number");
  }
}

// With all that goes with it, and the codes or the scales alone.
TEST_F(VerifyForms, TellAnExpertOfWhichAPartIsGone) {
  const std::string bank = "model.layers.0.mlp.experts", up = bank + ".1.up_proj.";
  for (const Written& form : all_forms()) {
    if (form.gpt_oss) continue;
    write(form);
    const auto erase = [&](const std::string& start) {
      return [&f = form, start](TestFile& file, Json&) {
        const auto count = std::erase_if(
            file.tensors, [&](const auto& each) { return each.first.starts_with(start); });
        EXPECT_GT(count, 0u) << f.name << start;
      };
    };
    expect_told(form, erase(up), bank + ".1.up_proj", "is gone");
    expect_told(form, erase(bank + ".1."), bank + ".1.*", "the config says 2 experts");
    const std::size_t part = form.scales.rfind('.') + 1;
    expect_told(form, erase(up + form.scales.substr(part)), up, "has no ");
    expect_told(
        form, [&](TestFile& f, Json&) { f.tensors.erase(up + form.codes.substr(part)); }, up,
        "is a scale of no quantized weight");
  }
}

// It takes ModelOpt's MXFP8 for its own, whose list it looks for under another name.
TEST_F(VerifyForms, SayWhoseConfigHasTheListThatSglangReads) {
  const Written modelopt = all_forms()[4];
  write(modelopt);
  const auto report =
      after(modelopt, [](TestFile&, Json& config) { config["ignore"] = Json::array(); });
  const auto helps = [](const VerifyFault& fault) {
    return fault.engines == std::vector{Engine::sglang} &&
           fault.fix == "quantize with --config sglang for it";
  };
  EXPECT_EQ(std::ranges::count_if(report.faults, helps), 1);
}

// Also in the names that engines' configs have for the list.
TEST_F(VerifyForms, TellAListThatDoesNotFit) {
  for (const Written& form : all_forms()) {
    if (form.gpt_oss) continue;  // it has none that counts
    write(form);
    const char* const key =
        form.config == EngineConfig::sglang ? "modules_to_not_convert" : "ignore";
    expect_told(
        form, [&](TestFile&, Json& config) { config[key].push_back(kAttention + "o_proj"); },
        kAttention + "o_proj", "is told to ignore it");
    expect_told(
        form,
        [&](TestFile&, Json& config) {
          if (form.mixed) config["quantized_layers"]["lm_head"] = {{"quant_algo", "NVFP4"}};
          config[key] = Json::array();
        },
        "lm_head", "looks for its scales");
    expect_told(
        form,
        [&](TestFile&, Json& config) {
          config[key].push_back(kAttention + "q_proj");
          if (form.mixed) config["quantized_layers"][kAttention + "q_proj"]["quant_algo"] = "NVFP4";
          if (form.mixed) config["quantized_layers"].erase(kAttention + "qkv_proj");
        },
        kAttention, form.config == EngineConfig::modelopt ? "" : "the list names it in part");
  }
}

TEST_F(VerifyForms, TellAPartOfAFusedModuleThatIsNotQuantized) {
  for (const Written& form : all_forms()) {
    if (form.gpt_oss) continue;
    write(form);
    expect_told(
        form,
        [&](TestFile& f, Json&) {
          std::erase_if(f.tensors, [](const auto& each) {
            return each.first.starts_with(kAttention + "q_proj.");
          });
          f.tensors[kAttention + "q_proj.weight"] = random_tensor("BF16", {32, 32}, 9);
        },
        kAttention, "only a part is quantized");
  }
}

}  // namespace
}  // namespace diecast::testing
