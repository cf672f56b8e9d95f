// A conversion of four jobs that is killed, or whose disk is full from some call on: what has a
// name is whole, and an index names files of one run.
#include <checkpoint/sharded_fixture.h>
#include <child_process.h>
#include <diecast/base/text.h>
#include <errno.h>
#include <fake_file_system.h>
#include <how_many.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

namespace diecast::testing {
namespace {

constexpr int kStep = kSanitized ? 97 : 31;  // calls from one that fails to the next
constexpr int kKilled = 99;                  // the exit code

Shards shards(std::uint64_t seed) {
  Shards out;
  for (const std::string layer : {"0", "1", "2"})
    for (const char* name : {"gate_proj", "up_proj", "down_proj", "norm"})
      out[cat("model-0000", layer, ".safetensors")]
          .tensors[cat("l.", layer, ".", name, ".weight")] =
          random_tensor("BF16", {16, 64}, ++seed);
  return out;
}

struct Form {
  WeightFormat format;
  EngineConfig config;
};
class Interrupted : public Convert, public ::testing::WithParamInterface<Form> {
 protected:
  Interrupted() {
    write_shards(model_, shards(1));
    write_text(model_ + "/config.json", "{}");
    write_shards(other_, shards(100));
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
    int call = 1 + 6 * static_cast<int>(GetParam().format);  // formats take calls of their own
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

INSTANTIATE_TEST_SUITE_P(
    EachFormat, Interrupted,
    ::testing::Values(Form{WeightFormat::nvfp4, EngineConfig::modelopt},
                      Form{WeightFormat::nvfp4, EngineConfig::compressed_tensors},
                      Form{WeightFormat::nvfp4_w4a16, EngineConfig::modelopt},
                      Form{WeightFormat::mxfp8, EngineConfig::sglang},
                      Form{WeightFormat::mxfp4, EngineConfig::compressed_tensors}));

}  // namespace
}  // namespace diecast::testing
