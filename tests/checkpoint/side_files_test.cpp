// A model's folder becomes one that engines load: what stands beside the weights goes along, and
// its config says how they are quantized.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <fake_file_system.h>
#include <how_many.h>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;
const std::string kConfigText =
    R"({"model_type": "llama", "rms_norm_eps": 1e-06, "eos_token_id": [128001, 128009]})";

class SideFilesTest : public Convert {
 protected:
  SideFilesTest() {
    write_shards(model_, sample_shards());
    write("config.json", kConfigText);
    write("tokenizer.json", std::string((3 << 20) + 17, 't'));  // of several pieces
    write("LICENSE", "free\n");
  }
  void write(const std::string& name, const std::string& text) {
    write_text(model_ + "/" + name, text);
  }
  Result<ConvertReport> quantize(const QuantizeOptions& options = sample_options(),
                                 FileSystem& files = system_files()) {
    return quantize_with_scalars(model_, small_, options, {}, files);
  }
  Result<ConvertReport> dequantize() { return dequantize_with_scalars(small_, home_); }
  static std::vector<std::string> names(const SideFiles& files) {
    std::vector<std::string> out;
    for (const SideFile& file : files.list()) out.push_back(file.name);
    return out;
  }
  std::string of_small(const std::string& name) { return text_of(small_ + "/" + name); }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    home_ = folder_ / "home";
};

TEST_F(SideFilesTest, AllButWeightsAndHiddenFilesGoAlong) {
  for (const char* name : {"pytorch_model.bin", "consolidated.00.pth", ".gitattributes",
                           "stray.safetensors", "pytorch_model.bin.index.json", "mtp.safetensors"})
    write(name, "not this");
  std::filesystem::create_directories(model_ + "/original");
  write("original/consolidated.00.pth", "not this");
  std::filesystem::create_symlink("LICENSE", model_ + "/NOTICE");  // as in a download cache
  const auto report = quantize();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(names(report->side_files),
            (std::vector<std::string>{"LICENSE", "NOTICE", "config.json", "hf_quant_config.json",
                                      "mtp.safetensors", "tokenizer.json"}));
  EXPECT_EQ(tree(small_).size(), 4u + 6);
  EXPECT_EQ(report->side_files.notes()[0],
            "not taken along: \"consolidated.00.pth\" (8 B), \"pytorch_model.bin\" (8 B), "
            "\"pytorch_model.bin.index.json\" (8 B), \"stray.safetensors\" (8 B), "
            "\"original\" (a folder of 8 B)");
  EXPECT_EQ(of_small("NOTICE"), "free\n");
  EXPECT_TRUE(of_small("tokenizer.json") == text_of(model_ + "/tokenizer.json"));
}

// The keys are those that vLLM's and SGLang's loaders of ModelOpt checkpoints ask for.
TEST_F(SideFilesTest, TheConfigSaysHowTheWeightsAreQuantized) {
  const auto report = quantize();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->side_files.notes(),
            std::vector<std::string>{
                "config.json says nvfp4 as modelopt does; activations are not calibrated: every "
                "input_scale is 1"});
  Json config = Json::parse(of_small("config.json"));
  const Json said = config["quantization_config"];
  EXPECT_EQ(said["quant_method"], "modelopt");
  EXPECT_EQ(said["quant_algo"], "NVFP4");
  EXPECT_EQ(said["group_size"], 16);
  EXPECT_EQ(said["config_groups"]["group_0"]["weights"]["num_bits"], 4);
  EXPECT_EQ(said["ignore"], Json({"l.*", "lm_head", "model.embed_tokens", "mtp.*"}));
  config.erase("quantization_config");
  EXPECT_EQ(config, Json::parse(kConfigText));

  const Json alone = Json::parse(of_small("hf_quant_config.json"));
  EXPECT_EQ(alone["quantization"]["quant_algo"], "NVFP4");
  EXPECT_EQ(alone["quantization"]["group_size"], 16);
  EXPECT_EQ(alone["quantization"]["exclude_modules"], said["ignore"]);
  EXPECT_TRUE(alone["quantization"].contains("kv_cache_quant_algo"));
  EXPECT_EQ(alone["producer"]["name"], "diecast");
}

TEST_F(SideFilesTest, DequantizedTheyAreWhatTheyWere) {
  ASSERT_TRUE(quantize());
  ASSERT_TRUE(dequantize());
  EXPECT_EQ(tree(home_), tree(model_));
  EXPECT_EQ(Json::parse(text_of(home_ + "/config.json")), Json::parse(kConfigText));
}

TEST_F(SideFilesTest, AConfigThatWouldNotBeTrueIsNotWritten) {
  QuantizeOptions rows = sample_options();
  rows.row_scaled = true;
  const auto report = quantize(rows);
  ASSERT_TRUE(report);
  EXPECT_EQ(of_small("config.json"), kConfigText);
  EXPECT_EQ(report->side_files.notes().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(small_ + "/hf_quant_config.json"));
  for (const std::string& text :
       {std::string("[1]"), std::string("{nonsense"),
        "{\"a\": " + std::string(1000, '[') + std::string(1000, ']') + "}"}) {
    std::filesystem::remove_all(small_);
    write("config.json", text);
    const auto copied = quantize();
    ASSERT_TRUE(copied) << text;
    EXPECT_EQ(of_small("config.json"), text);
    EXPECT_EQ(copied->side_files.notes().size(), 1u);
    EXPECT_FALSE(std::filesystem::exists(small_ + "/hf_quant_config.json"));
  }
}

// Wherever a model says so.
TEST_F(SideFilesTest, AModelThatIsQuantizedAlreadyIsRefusedAndForcedItsConfigReplaced) {
  const std::string other = R"("quantization_config": {"quant_method": "awq"})";
  const std::string config = R"({"model_type": "x", )" + other + R"(, "text_config": {"a": 1, )" +
                             other + R"(}, "compression_config": {"format": "y"}})";
  for (const std::string name : {"config.json", "hf_quant_config.json"}) {
    write("config.json", kConfigText);
    write(name, config);
    std::filesystem::remove_all(small_);
    EXPECT_EQ(quantize().error().code, ErrorCode::not_supported) << name;
    EXPECT_FALSE(std::filesystem::exists(small_));
    QuantizeOptions options = sample_options();
    options.force = true;
    ASSERT_TRUE(quantize(options));
    const Json said = Json::parse(of_small("config.json"));
    EXPECT_EQ(said["quantization_config"]["quant_algo"], "NVFP4");
    EXPECT_FALSE(said.contains("compression_config"));
    if (name == "config.json") {
      EXPECT_EQ(said["text_config"], Json::parse(R"({"a": 1})"));
    }
    EXPECT_TRUE(Json::parse(of_small("hf_quant_config.json")).contains("producer"));
    options.row_scaled = true;  // no engine's
    std::filesystem::remove_all(small_);
    ASSERT_TRUE(quantize(options));
    EXPECT_FALSE(Json::parse(of_small("config.json")).contains("quantization_config"));
    EXPECT_FALSE(std::filesystem::exists(small_ + "/hf_quant_config.json"));
  }
}

TEST_F(SideFilesTest, WhatAConfigSaysOfKeysAndValuesStays) {
  const std::string cache = R"({"num_bits": 8, "type": "float"})";
  write("config.json", R"({"compression_config": {"kv_cache_scheme": )" + cache + "}}");
  QuantizeOptions options = sample_options();
  options.force = true;
  ASSERT_TRUE(quantize(options));
  const Json said = Json::parse(of_small("config.json"))["quantization_config"];
  EXPECT_EQ(said["kv_cache_scheme"], Json::parse(cache));
  EXPECT_NE(of_small("hf_quant_config.json").find(R"("FP8")"), std::string::npos);
}

TEST_F(SideFilesTest, AFolderWithoutAConfigGetsNone) {
  std::filesystem::remove(model_ + "/config.json");
  const auto report = quantize();
  ASSERT_TRUE(report);
  EXPECT_EQ(names(report->side_files), (std::vector<std::string>{"LICENSE", "tokenizer.json"}));
  EXPECT_EQ(report->side_files.notes(), std::vector<std::string>{});
}

TEST_F(SideFilesTest, WhatIsThereAlreadyIsLeftOrRefused) {
  std::filesystem::create_directories(small_);
  write_text(small_ + "/LICENSE", "free\n");
  write_text(small_ + "/tokenizer.json", std::string(3 << 20, 't'));
  const auto before = tree(folder_.path());
  const auto refused = quantize();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: file_exists: another \"" + small_ +
                "/tokenizer.json\" is there already\n"
                "  fix: name a new folder, move that file away, or replace it with --overwrite");
  EXPECT_EQ(tree(folder_.path()), before);
  std::filesystem::remove(small_ + "/tokenizer.json");
  write_text(small_ + "/config.json", kConfigText);  // not the one that says NVFP4
  EXPECT_EQ(quantize().error().code, ErrorCode::file_exists);
  std::filesystem::remove(small_ + "/config.json");
  EXPECT_TRUE(quantize());
  std::filesystem::remove(small_ + "/" + kIndexName);  // as a run leaves it that was killed late
  EXPECT_TRUE(quantize());
}

TEST_F(SideFilesTest, WhatSomebodyElseMakesMeanwhileStays) {
  const Checkpoint checkpoint = Checkpoint::open(model_).value();
  const Plan plan = plan_quantize(checkpoint.header(), sample_options()).value();
  ConvertOptions options;
  options.progress = [&](const ConvertProgress&) { write_text(small_ + "/config.json", "mine"); };
  const auto refused = convert(checkpoint, plan, small_, scalar_kernels(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::file_exists);
  EXPECT_EQ(of_small("config.json"), "mine");
  EXPECT_FALSE(std::filesystem::exists(small_ + "/" + kIndexName));
}

TEST_F(SideFilesTest, TheInputsOwnFolderIsRefused) {
  std::filesystem::create_directory_symlink(model_, small_);
  const auto before = tree(model_);
  const auto refused = quantize();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: invalid_argument: the output \"" + small_ +
                "\" is the input's own folder\n  fix: name another folder");
  EXPECT_EQ(tree(model_), before);
}

TEST_F(SideFilesTest, LinksThatLeadNowhereAreLeftOutAndPermissionsKept) {
  std::filesystem::create_symlink("loop", model_ + "/loop");
  std::filesystem::create_symlink("LICENSE/x", model_ + "/through");
  std::filesystem::create_symlink("gone", model_ + "/lost");
  std::filesystem::permissions(model_ + "/LICENSE", std::filesystem::perms::owner_read);
  const auto report = quantize();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(names(report->side_files).size(), 4u);
  EXPECT_EQ(std::filesystem::status(small_ + "/LICENSE").permissions(),
            std::filesystem::perms::owner_read);
}

// As Python writes them, which JSON has not.
TEST_F(SideFilesTest, InfinityInAConfigStays) {
  write("config.json",
        R"({"time_step_limit": [0.0, Infinity, -Infinity, NaN], "named": "Infinity \" NaN",)"
        R"( "quantization_config": null})");
  ASSERT_TRUE(quantize());
  const std::string text = of_small("config.json");
  EXPECT_NE(text.find("Infinity,\n    -Infinity,\n    NaN\n"), text.npos) << text;
  EXPECT_NE(text.find(R"("named": "Infinity \" NaN")"), text.npos) << text;
  EXPECT_NE(text.find("\"modelopt\""), text.npos);
  ASSERT_TRUE(dequantize());
  EXPECT_EQ(text_of(home_ + "/config.json").find("modelopt"), std::string::npos);
}

TEST_F(SideFilesTest, AConfigThatIsNotNvfp4sStaysWithANote) {
  ASSERT_TRUE(quantize());
  write_text(small_ + "/config.json",
             R"({"quantization_config": {"quant_algo": "MIXED_PRECISION"}})");
  write_text(small_ + "/hf_quant_config.json",
             R"({"quantization": {"quant_algo": "MIXED_PRECISION"}})");
  const auto report = dequantize();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->side_files.notes().size(), 2u);
  EXPECT_EQ(tree(home_).size(), tree(small_).size());
}

TEST_F(SideFilesTest, AConfigStaysWhereWeightsOfAnotherToolStayQuantized) {
  Shards shards = sample_shards();
  auto& tensors = shards.begin()->second.tensors;
  tensors["m.experts.up_proj"] = {"U8", {2, 4, 8}, std::string(64, 'x')};
  tensors["m.experts.up_proj_weight_scale"] = {"F8_E4M3", {2, 4, 1}, "12345678"};
  write_shards(model_, shards);
  write("config.json", R"({"quantization_config": {"quant_algo": "NVFP4"}})");
  write("hf_quant_config.json", R"({"quantization": {"quant_algo": "NVFP4"}})");
  QuantizeOptions options = sample_options();
  options.force = true;
  ASSERT_TRUE(quantize(options));
  const auto report = dequantize();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->side_files.notes(),
            std::vector<std::string>{
                "what config.json and hf_quant_config.json say of the quantization is kept: it is "
                "true of the weights that stay quantized alone"});
  EXPECT_EQ(tree(home_), tree(model_));
  for (const std::string name : {"/config.json", "/hf_quant_config.json"})
    EXPECT_EQ(text_of(home_ + name), of_small(name));
}

TEST_F(SideFilesTest, AConfigOfManyKeysIsCopiedAtOnce) {
  const int keys = testing::unless_sanitized(testing::how_many(100'000, 1'000'000, 1'000'000));
  std::string text = "{";
  for (int i = 0; i < keys; ++i) text += "\"" + std::to_string(i) + "\":0,";
  write("config.json", text + "\"z\":0}");
  const auto report = quantize();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->side_files.notes().size(), 1u);
}

// What has an index has all of its side files, too.
TEST_F(SideFilesTest, WR03_FailureOfAnyCallLeavesNoIndexWithoutThem) {
  ASSERT_TRUE(quantize());
  const auto want = tree(small_);
  int failures = 0, without_folder = 0;
  for (int call = 1;; ++call) {
    std::filesystem::remove_all(small_);
    FakeFileSystem files(FakeFileSystem::fail_from(call, EIO, false));
    const auto report = quantize({}, files);
    if (!files.refused()) break;
    failures += !report;
    const bool whole = std::filesystem::exists(small_ + "/" + kIndexName);
    EXPECT_TRUE(whole ? tree(small_) == want : !report)
        << "call " << call << " " << files.log()[static_cast<std::size_t>(call) - 1].name;
    without_folder += !std::filesystem::exists(small_);
  }
  EXPECT_GT(failures, 100);
  EXPECT_GT(without_folder, 80);  // all but those of naming files
}

}  // namespace
}  // namespace diecast::testing
