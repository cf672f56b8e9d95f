// What verify tells of our own folders, and of folders with one fault each.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/verify.h>

#include <functional>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;

TestFile small_model() {
  TestFile file;
  file.metadata = {{"format", "pt"}};
  std::uint64_t seed = 0;
  const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
    file.tensors[name + ".weight"] = random_tensor("BF16", std::move(shape), ++seed);
  };
  add("model.embed_tokens", {32, 32});
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      add(layer + "self_attn." + name, {32, 32});
    add(layer + "mlp.gate", {2, 32});
    for (const std::string expert : {"0", "1"})
      for (const char* name : {"gate_proj", "up_proj", "down_proj"})
        add(cat(layer, "mlp.experts.", expert, ".", name), {32, 32});
  }
  add("lm_head", {32, 32});
  add("visual.blocks.0.proj", {32, 32});
  return file;
}

class Verify : public Convert {
 protected:
  Verify() {
    std::filesystem::create_directories(model_);
    write_text(model_ + "/model.safetensors", encode(small_model()));
    write_text(model_ + "/config.json", R"({"num_hidden_layers": 2})");
  }
  VerifyReport verified(const std::string& folder) {
    const auto report = verify_checkpoint(Checkpoint::open(folder).value());
    EXPECT_TRUE(report) << report.error().message();
    return report ? *report : VerifyReport{};
  }
  // Whether vLLM and SGLang load the quantized model after this change.
  std::string after(const std::function<void(TestFile&, Json&)>& change) {
    std::filesystem::remove_all(small_);
    EXPECT_TRUE(quantize_with_scalars(model_, small_, {}));
    TestFile file = decode(text_of(small_ + "/model.safetensors"));
    Json config = Json::parse(text_of(small_ + "/config.json"));
    change(file, config);
    write_text(small_ + "/model.safetensors", encode(file));
    write_text(small_ + "/config.json", config.dump());
    const VerifyReport report = verified(small_);
    std::string out;
    for (const Engine engine : kEngines) out += report.loads(engine) ? "yes " : "no ";
    EXPECT_EQ(report.faults.empty(), out == "yes yes ");
    return out;
  }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small";
  const std::string q_ = "model.layers.0.self_attn.q_proj";
};

TEST_F(Verify, FindsNothingWrongInWhatQuantizeWrites) {
  EXPECT_EQ(after([](TestFile&, Json&) {}), "yes yes ");
  EXPECT_EQ(verified(small_).quantized, 20u);
  EXPECT_EQ(verified(model_).quantized, 0u);
  for (const std::string glob : {"*.self_attn.*", "*.experts.*", "*.0.*"}) {
    QuantizeOptions options;
    options.keep = {glob};
    std::filesystem::remove_all(small_);
    ASSERT_TRUE(quantize_with_scalars(model_, small_, options));
    EXPECT_TRUE(verified(small_).faults.empty()) << glob << ": " << verified(small_).faults[0].what;
  }
}

TEST_F(Verify, TellsEachFault) {
  const auto& q = q_;
  const auto list = [](Json& config) -> Json& { return config["quantization_config"]["ignore"]; };
  EXPECT_EQ(after([&](TestFile& f, Json&) { f.tensors.erase(q + ".input_scale"); }), "no no ");
  EXPECT_EQ(after([&](TestFile& f, Json&) { f.tensors.erase(q + ".weight_scale"); }), "no no ");
  EXPECT_EQ(after([&](TestFile& f, Json&) { f.tensors.erase(q + ".weight_scale_2"); }), "no no ");
  EXPECT_EQ(after([&](TestFile& f, Json&) {
              f.tensors.at(q + ".weight_scale") = {"F8_E4M3", {128, 4}, std::string(512, '8')};
            }),
            "no no ");
  EXPECT_EQ(
      after([&](TestFile& f, Json&) { f.tensors.at(q + ".weight_scale_2") = floats({}, {0.5f}); }),
      "no no ")
      << "not shared with k and v";
  for (const float value : {0.0f, -1.0f, std::numeric_limits<float>::infinity()})
    EXPECT_EQ(after([&](TestFile& f, Json&) {
                for (const char* name : {"q_proj", "k_proj", "v_proj"})
                  f.tensors.at(cat("model.layers.0.self_attn.", name, ".input_scale")) =
                      floats({}, {value});
              }),
              "no no ");
  EXPECT_EQ(after([&](TestFile&, Json& c) { c.erase("quantization_config"); }), "yes yes ")
      << "hf_quant_config.json says it too";
  EXPECT_EQ(after([&](TestFile&, Json& c) { list(c).clear(); }), "no no ");
  EXPECT_EQ(after([&](TestFile&, Json& c) { list(c).push_back("*.o_proj"); }), "no no ");
  EXPECT_EQ(after([&](TestFile&, Json& c) { list(c).push_back("self_attn.o_pro"); }), "no yes ")
      << "a part of a name to vLLM";
  EXPECT_EQ(after([&](TestFile&, Json& c) { list(c).push_back("model.layers.1"); }), "no no ");
  EXPECT_EQ(
      after([&](TestFile&, Json& c) { list(c).push_back("model.layers.0.self_attn.q_proj"); }),
      "no no ");
  EXPECT_EQ(after([&](TestFile& f, Json&) {
              for (const char* part : {".weight_scale", ".weight_scale_2", ".input_scale"})
                f.tensors.erase(q + part);
              f.tensors.at(q + ".weight") = random_tensor("BF16", {32, 32}, 1);
            }),
            "no no ")
      << "a part of a fused module";
  EXPECT_EQ(
      after([&](TestFile& f, Json& c) {
        for (const char* part : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"})
          f.tensors["visual.x" + std::string(part)] = f.tensors.at(q + part);
        list(c) = Json({"*.gate", "lm_head", "model.embed_tokens", "visual.blocks.*"});
      }),
      "no no ");
}

// NVFP4 where the engines' own code of a model has no place for it.
TEST_F(Verify, TellsWhatEnginesReadAsFloatingPoint) {
  const auto with = [&](const std::string& module) {
    return after([&](TestFile& f, Json& c) {
      for (const char* part : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"})
        f.tensors[module + part] = f.tensors.at(q_ + part);
      Json& list = c["quantization_config"]["ignore"];
      std::erase(list.get_ref<Json::array_t&>(), "mtp.*");
    });
  };
  EXPECT_EQ(with("model.layers.0.self_attn.extra.o_proj"), "yes yes ");
  for (const char* both :
       {"model.layers.0.self_attn.kv_b_proj", "mtp.fc", "model.layers.2.eh_proj",
        "model.layers.0.self_attn.indexer.wk", "model.layers.0.self_attn.indexer.weights_proj"})
    EXPECT_EQ(with(both), "no no ") << both;
  for (const char* sglang : {"mtp.layers.0.self_attn.o_proj", "model.layers.2.mlp.down_proj"})
    EXPECT_EQ(with(sglang), "yes no ") << sglang;
  EXPECT_EQ(with("model.layers.0.self_attn.indexer.wq_b"), "yes yes ");
}

// vLLM leaves towers of these names alone, and ModelOpt's older exporters did not list them.
TEST_F(Verify, TellsATowerThatIsNotListed) {
  const auto unlisted = [&](const std::string& tower) {
    return after([&](TestFile& f, Json& c) {
      f.tensors[tower + ".fc1.weight"] = random_tensor("BF16", {32, 32}, 8);
      EXPECT_TRUE(c["quantization_config"].contains("ignore"));
    });
  };
  EXPECT_EQ(unlisted("vision_tower.layers.0"), "yes no ");
  EXPECT_EQ(unlisted("audio_tower.layers.0"), "no no ");
}

TEST_F(Verify, TellsKeysThatModelOptsFileLacks) {
  const auto without = [&](const std::string& key) {
    const std::string name = small_ + "/hf_quant_config.json";
    const std::string engines = after([](TestFile&, Json& c) { c.erase("quantization_config"); });
    EXPECT_EQ(engines, "yes yes ");
    Json config = Json::parse(text_of(name));
    config["quantization"].erase(key);
    write_text(name, config.dump());
    const VerifyReport report = verified(small_);
    std::string out;
    for (const Engine engine : kEngines) out += report.loads(engine) ? "yes " : "no ";
    return out;
  };
  EXPECT_EQ(without("group_size"), "no no ");
  EXPECT_EQ(without("kv_cache_quant_algo"), "no yes ");
  EXPECT_EQ(without("exclude_modules"), "no no ") << "and nothing is left alone";
}

TEST_F(Verify, NotesFilesThatTheCheckpointDoesNotName) {
  ASSERT_TRUE(quantize_with_scalars(model_, small_, {}));
  EXPECT_TRUE(verified(small_).notes.empty());
  write_text(small_ + "/consolidated.safetensors", encode(small_model()));
  const VerifyReport report = verified(small_);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("\"consolidated.safetensors\""), std::string::npos);
  EXPECT_TRUE(report.faults.empty());
}

TEST_F(Verify, RefusesAConfigOfWhichNoRulesAreKnown) {
  write_text(model_ + "/config.json", R"({"quantization_config": {"quant_method": "awq"}})");
  const auto refused = verify_checkpoint(Checkpoint::open(model_).value());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_supported);
}

// ModelOpt keeps the experts of Llama-4 in one tensor. Those with biases are no engine's.
TEST_F(Verify, TakesExpertsInOneTensorUnlessTheyHaveBiases) {
  const auto add_bank = [](TestFile& file) {
    file.tensors["model.layers.1.moe.experts.down_proj"] = {"U8", {2, 16, 8}, std::string(256, 1)};
    file.tensors["model.layers.1.moe.experts.down_proj_weight_scale"] = {
        "F8_E4M3", {2, 2, 8}, std::string(32, 8)};
    for (const char* part : {"_weight_scale_2", "_input_scale"})
      file.tensors[cat("model.layers.1.moe.experts.down_proj", part)] = floats({}, {1.0f});
  };
  const auto add_biased = [&](TestFile& file, Json&) {
    add_bank(file);
    file.tensors["model.layers.1.moe.experts.down_proj_bias"] = random_tensor("BF16", {2, 8}, 7);
  };
  EXPECT_EQ(after([&](TestFile& file, Json&) { add_bank(file); }), "no no ");
  EXPECT_EQ(after(add_biased), "no no ");
  // Told once, with the way out: no other form of NVFP4 would help.
  const VerifyReport report = verified(small_);
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_EQ(report.faults[0].fix, "serve the model in MXFP4");
  write_text(model_ + "/config.json", R"({"num_hidden_layers": 2, "model_type": "llama4_text"})");
  EXPECT_EQ(after([&](TestFile& file, Json&) { add_bank(file); }), "yes yes ");
  EXPECT_EQ(verified(small_).quantized, 21u);
  EXPECT_EQ(after(add_biased), "no no ");
}

}  // namespace
}  // namespace diecast::testing
