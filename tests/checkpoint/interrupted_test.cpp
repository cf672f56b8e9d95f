// A conversion of four jobs, in each format and of each kind of model, that is killed, or whose
// disk is full from some call on: what has a name is whole, and an index names files of one run.
#include <checkpoint/sharded_fixture.h>
#include <child_process.h>
#include <diecast/base/text.h>
#include <errno.h>
#include <fake_file_system.h>
#include <how_many.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace diecast::testing {
namespace {

constexpr int kStep = kSanitized ? 97 : 53;  // calls from one that fails to the next
constexpr int kKilled = 99;                  // the exit code

enum class Source : std::uint8_t { bf16, gpt_oss, fp8, int4, mxfp4 };

std::string random_bytes(std::size_t count, std::uint64_t seed) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<char>(seed >> 58));  // no NaN of E4M3
  }
  return out;
}

// A weight of 16 x 64.
void add_weight(TestFile& file, const std::string& module, Source source, std::uint64_t seed) {
  const std::string weight = module + ".weight", scale = weight + "_scale";
  const TestTensor ones = floats({16, 1}, std::vector<float>(16, 1));
  switch (source) {
    case Source::fp8:
      file.tensors[weight] = {"F8_E4M3", {16, 64}, random_bytes(1024, seed)};
      file.tensors[scale] = ones;
      return;
    case Source::int4:
      file.tensors[weight + "_packed"] = {"I32", {16, 8}, random_bytes(512, seed)};
      file.tensors[scale] = ones;
      return;
    case Source::mxfp4:
      file.tensors[weight + "_packed"] = {"U8", {16, 32}, random_bytes(512, seed)};
      file.tensors[scale] = {"U8", {16, 2}, std::string(32, '\x7F')};
      return;
    default:
      file.tensors[weight] = random_tensor("BF16", {16, 64}, seed);
  }
}

Shards shards(Source source, std::uint64_t seed) {
  Shards out;
  for (const std::string layer : {"0", "1", "2"}) {
    TestFile& file = out[cat("model-0000", layer, ".safetensors")];
    for (const char* name : {"gate_proj", "up_proj", "down_proj", "norm"})
      add_weight(file, cat("l.", layer, ".", name),
                 name == std::string("norm") ? Source::bf16 : source, ++seed);
    if (source != Source::gpt_oss) continue;
    const std::string bank = cat("l.", layer, ".experts.");
    file.tensors[bank + "gate_up_proj"] = random_tensor("BF16", {2, 32, 128}, ++seed);
    file.tensors[bank + "down_proj"] = random_tensor("BF16", {2, 64, 32}, ++seed);
  }
  return out;
}

struct Form {
  int number;
  std::string name;
  std::optional<WeightFormat> format;
  std::optional<EngineConfig> config;
  Source source = Source::bf16;
};
using enum WeightFormat;
using enum EngineConfig;
const Form kForms[] = {{0, "nvfp4_modelopt", nvfp4, modelopt},
                       {1, "nvfp4_compressed_tensors", nvfp4, compressed_tensors},
                       {2, "w4a16_modelopt", nvfp4_w4a16, modelopt},
                       {3, "w4a16_compressed_tensors", nvfp4_w4a16, compressed_tensors},
                       {4, "mxfp8_modelopt", mxfp8, modelopt},
                       {5, "mxfp8_compressed_tensors", mxfp8, compressed_tensors},
                       {6, "mxfp8_sglang", mxfp8, sglang},
                       {7, "mxfp4_compressed_tensors", mxfp4, compressed_tensors},
                       {8, "mxfp4_gpt_oss", {}, {}, Source::gpt_oss},
                       {9, "of_fp8", nvfp4, modelopt, Source::fp8},
                       {10, "of_int4", nvfp4, modelopt, Source::int4},
                       {11, "of_mxfp4", nvfp4, modelopt, Source::mxfp4}};

class Interrupted : public Convert, public ::testing::WithParamInterface<Form> {
 protected:
  Interrupted() {
    const Source source = GetParam().source;
    write_shards(model_, shards(source, 1));
    write_shards(other_, shards(source, 100));
    const bool gpt_oss = source == Source::gpt_oss;
    write_text(model_ + "/config.json", gpt_oss ? R"({"model_type": "gpt_oss"})" : "{}");
    if (gpt_oss) write_text(other_ + "/config.json", R"({"model_type": "gpt_oss"})");
    EXPECT_TRUE(run(model_, want_));
    EXPECT_TRUE(run(other_, old_));
  }
  bool run(const std::string& from, const std::string& to, FileSystem& files = system_files()) {
    QuantizeOptions options;
    options.format = GetParam().format;
    options.config = GetParam().config;
    ConvertOptions how;
    how.jobs = 4;
    how.piece_bytes = 256;
    how.overwrite = true;
    return quantize_with_scalars(from, to, options, how, files).ok();
  }
  // Whether it went to its end.
  bool killed_at(int call) {
    const pid_t child = start_child([&] {
      FakeFileSystem files([&](const FileCall& each) {
        if (each.number >= call) ::_exit(kKilled);
        return FileFault();
      });
      return run(model_, small_, files) ? 0 : 1;
    });
    const int code = wait_for_child(child);
    EXPECT_TRUE(code == 0 || code == kKilled) << code;
    return code == 0;
  }
  bool full_at(int call) {
    FakeFileSystem files([&](const FileCall& each) {
      const bool takes_room = each.name == "write_at" || each.name == "reserve" ||
                              each.name == "make_directory_at" || each.name == "link_at" ||
                              each.name == "rename_at";
      return FileFault{each.number >= call && takes_room ? ENOSPC : 0};
    });
    const bool done = run(model_, small_, files);
    EXPECT_NE(done, files.refused());
    return done;
  }
  // A whole file has a hidden name in the moment before it has its own.
  void expect_whole(const std::string& what) {
    if (!std::filesystem::exists(small_)) return;
    const bool finished = std::filesystem::exists(small_ + "/" + kIndexName);
    std::size_t news = 0, olds = 0;
    for (const std::string& name : tree(small_)) {
      const std::size_t mark = name.find(".diecast-tmp-");
      const std::string of = mark == name.npos ? name : name.substr(1, mark - 1);
      const std::string now = text_of(small_ + "/" + name);
      const bool is_new = now == text_of(want_ + "/" + of);
      const bool is_old =
          std::filesystem::exists(old_ + "/" + name) && now == text_of(old_ + "/" + name);
      EXPECT_TRUE(is_new || is_old) << what << ": " << name;
      if (!name.ends_with(".safetensors")) continue;
      news += is_new;
      olds += is_old;
    }
    EXPECT_TRUE(!finished || news == 3 || olds == 3) << what;
  }
  void interrupt(bool replaces, const std::function<bool(int)>& ends_at) {
    int call = 1 + 4 * GetParam().number;  // each takes calls of its own
    for (bool done = false; !done; call += kStep) {
      std::filesystem::remove_all(small_);
      if (replaces) std::filesystem::copy(old_, small_);
      done = ends_at(call);
      expect_whole(cat("call ", call));
    }
    EXPECT_GT(call, 60);
    std::filesystem::remove(small_ + "/" + kIndexName);  // as a run that was killed leaves it
    EXPECT_TRUE(run(model_, small_));
    for (const std::string& name : tree(want_))
      EXPECT_EQ(text_of(small_ + "/" + name), text_of(want_ + "/" + name)) << name;
  }

  const std::string model_ = folder_ / "model", other_ = folder_ / "other",
                    small_ = folder_ / "small", want_ = folder_ / "want", old_ = folder_ / "old";
};

TEST_P(Interrupted, WR04_AKillAtAnyCallLeavesNothingHalfNamed) {
  if (!has_unnamed_files(folder_.path())) GTEST_SKIP() << "no unnamed files here";
  for (const bool replaces : {false, true})
    interrupt(replaces, [&](int call) { return killed_at(call); });
}

TEST_P(Interrupted, WR04_AFullDiskFromAnyCallOnLeavesNothingHalfNamed) {
  for (const bool replaces : {false, true})
    interrupt(replaces, [&](int call) { return full_at(call); });
}

INSTANTIATE_TEST_SUITE_P(EachFormat, Interrupted, ::testing::ValuesIn(kForms),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace diecast::testing
