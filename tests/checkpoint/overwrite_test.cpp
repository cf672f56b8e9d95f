// Outputs that are there already.
#include <checkpoint/sharded_fixture.h>
#include <errno.h>
#include <fake_file_system.h>

#include <set>

namespace diecast::testing {
namespace {

class Overwrite : public Convert {
 protected:
  Result<ConvertReport> quantize(const std::string& input, const std::string& output) {
    return quantize_with_scalars(input, output);
  }
  const std::string model_ = folder_ / "model", small_ = folder_ / "small";
};

TEST_F(Overwrite, AFinishedOutputIsReplacedOnlyWhereThatIsAskedFor) {
  const std::string index = write_shards(model_, sample_shards()), beside = small_ + "/LICENSE";
  write_text(model_ + "/LICENSE", "free");
  ASSERT_TRUE(quantize(index, small_));
  const auto again = [&](bool overwrite) {
    ConvertOptions options;
    options.overwrite = overwrite;
    const auto report = quantize_with_scalars(index, small_, sample_options(), options);
    return report ? "converted" : report.error().message();
  };
  const auto before = tree(small_);
  const std::string shard = small_ + "/model-00001-of-3.safetensors", whole = text_of(shard);
  EXPECT_EQ(again(false), "diecast: file_exists: the output \"" + small_ + "/" + kIndexName +
                              "\" is there already, finished\n"
                              "  fix: name another output, or replace it with --overwrite");
  write_text(shard, "other");
  write_text(beside, "not free");
  EXPECT_EQ(again(true), "converted");
  EXPECT_EQ(tree(small_), before);
  EXPECT_EQ(text_of(shard), whole);
  EXPECT_EQ(text_of(beside), "free");
  // Without its index it is what a killed run has left.
  std::filesystem::remove(small_ + "/" + kIndexName);
  EXPECT_EQ(again(false), "converted");
}

// A run that ends while it replaces an output leaves no index of two runs' files.
TEST_F(Overwrite, AnOutputThatIsReplacedHasNoIndexMeanwhile) {
  Shards shards;
  for (const std::string layer : {"0", "1", "2"})
    shards[layer + ".safetensors"].tensors["l." + layer + ".a.weight"] =
        random_tensor("BF16", {2, 16}, 1);
  const std::string index = write_shards(model_, shards), saved = folder_ / "saved";
  ASSERT_TRUE(quantize_with_scalars(index, saved, {}));
  ConvertOptions options;
  options.overwrite = true;
  QuantizeOptions other;
  other.scheme.profile = Profile::modelopt;
  int without_index = 0;
  for (int call = 1;; ++call) {
    std::filesystem::remove_all(small_);
    std::filesystem::copy(saved, small_);
    FakeFileSystem files(FakeFileSystem::fail_from(call, EIO, true));
    const auto report = quantize_with_scalars(index, small_, other, options, files);
    if (report) break;
    if (!std::filesystem::exists(small_ + "/" + kIndexName)) {
      ++without_index;
      continue;
    }
    std::set<std::string> profiles;
    for (const auto& [name, file] : read_shards(small_))
      profiles.insert(file.metadata.at("diecast.profile"));
    EXPECT_EQ(profiles.size(), 1u) << call;
  }
  EXPECT_GT(without_index, 3);
}

TEST_F(Overwrite, ALinkInAFilesPlaceIsRefused) {
  std::filesystem::create_directory(model_);
  write_text(model_ + "/model.safetensors", encode(sample()));
  std::filesystem::create_directory(small_);
  for (const std::string target : {"nowhere", "there"}) {
    write_text(small_ + "/there", "old");
    std::filesystem::create_symlink(target, small_ + "/model.safetensors");
    ConvertOptions options;
    options.overwrite = true;
    const auto report = quantize_with_scalars(model_, small_, sample_options(), options);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message(), "diecast: file_exists: the output \"" + small_ +
                                            "/model.safetensors\" is a symbolic link\n  fix: name "
                                            "the file that it leads to, or remove the link");
    EXPECT_EQ(text_of(small_ + "/there"), "old");
    std::filesystem::remove(small_ + "/model.safetensors");
  }
}

TEST_F(Overwrite, ALinkInAFoldersPlaceIsFollowedOrRefused) {
  std::filesystem::create_directory(model_);
  write_text(model_ + "/model.safetensors", encode(sample()));
  std::filesystem::create_directory_symlink(folder_ / "there", small_);
  const auto refused = quantize_with_scalars(model_, small_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: file_exists: the output \"" + small_ +
                "\" is a symbolic link that leads nowhere\n  fix: make the folder that it leads "
                "to, or remove the link");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "there"));
  std::filesystem::create_directory(folder_ / "there");
  ASSERT_TRUE(quantize_with_scalars(model_, small_));
  EXPECT_EQ(tree(folder_ / "there"), std::vector<std::string>{"model.safetensors"});
}

TEST_F(Overwrite, AFileToo) {
  write_text(in_, encode(sample()));
  ASSERT_TRUE(quantize(in_, out_));
  const std::string first = text_of(out_);
  ASSERT_FALSE(quantize(in_, out_));
  ConvertOptions options;
  options.overwrite = true;
  write_text(out_, "old");
  ASSERT_TRUE(quantize_with_scalars(in_, out_, sample_options(), options));
  EXPECT_EQ(text_of(out_), first);
  // The input itself is none.
  EXPECT_EQ(quantize_with_scalars(in_, in_, sample_options(), options).error().code,
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace diecast::testing
