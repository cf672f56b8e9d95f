// Folders beside a model's weights: small ones go along, others are named with their bytes.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <fake_file_system.h>

namespace diecast::testing {
namespace {

class SideFolders : public Convert {
 protected:
  SideFolders() {
    write_shards(model_, sample_shards());
    write("config.json", "{}");
  }
  void write(const std::string& name, const std::string& text) {
    write_text(model_ + "/" + name, text);
  }
  Result<ConvertReport> quantize() { return quantize_with_scalars(model_, small_); }
  std::string of_small(const std::string& name) { return text_of(small_ + "/" + name); }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    home_ = folder_ / "home";
};

// As sentence-transformers, chat templates and remote code have them.
TEST_F(SideFolders, SmallFoldersWithoutWeightsGoAlong) {
  for (const char* folder : {"1_Pooling", "code/deep/.git", "2_Dense", "empty"})
    std::filesystem::create_directories(model_ + "/" + folder);
  write("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": true}");
  write("code/deep/model.py", "pass\n");
  write("code/deep/.git/config", "not this");
  write("2_Dense/model.safetensors", "weights");
  std::filesystem::create_directory_symlink("..", model_ + "/code/up");
  std::filesystem::create_directory_symlink("1_Pooling", model_ + "/link");
  const auto report = quantize();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(of_small("1_Pooling/config.json"), text_of(model_ + "/1_Pooling/config.json"));
  EXPECT_EQ(of_small("code/deep/model.py"), "pass\n");
  for (const char* name : {"code/deep/.git", "code/up", "2_Dense", "empty", "link"})
    EXPECT_FALSE(std::filesystem::exists(small_ + "/" + name)) << name;
  EXPECT_EQ(report->side_files.notes()[0],
            "not taken along: \"2_Dense\" (a folder of 7 B), \"link\" (a link to a folder)");
  ASSERT_TRUE(dequantize_with_scalars(small_, home_));
  EXPECT_EQ(text_of(home_ + "/code/deep/model.py"), "pass\n");

  write("modules.json", "[]");  // the layer behind the model is a part of it
  ASSERT_EQ(quantize().error().code, ErrorCode::file_exists);
  std::filesystem::remove_all(small_);
  ASSERT_TRUE(quantize());
  EXPECT_EQ(of_small("2_Dense/model.safetensors"), "weights");
}

TEST_F(SideFolders, LargeFoldersAreNamedWithTheirBytes) {
  for (const char* folder : {"many", "large"})
    std::filesystem::create_directories(model_ + "/" + folder);
  for (int i = 0; i < 33; ++i) write(cat("many/", i), "x");
  write("large/data", "");
  std::filesystem::resize_file(model_ + "/large/data", (64 << 20) + 1);
  const auto note = [&] {
    const auto report = quantize();
    EXPECT_TRUE(report) << report.error().message();
    std::filesystem::remove_all(small_);
    return report->side_files.notes()[0];
  };
  EXPECT_EQ(note(), "not taken along: \"large\" (a folder of 64 MiB), \"many\" (a folder of 33 B)");
  std::filesystem::remove(model_ + "/many/0");
  std::filesystem::remove_all(model_ + "/large");
  EXPECT_EQ(note().substr(0, 11), "config.json");
}

TEST_F(SideFolders, AFailedRunLeavesNoFolders) {
  std::filesystem::create_directories(model_ + "/a/b");
  write("a/b/c", "x");
  const Checkpoint checkpoint = Checkpoint::open(model_).value();
  const Plan plan = plan_quantize(checkpoint.header(), sample_options()).value();
  FakeFileSystem files(FakeFileSystem::refuse("write_at", EIO));
  EXPECT_FALSE(convert(checkpoint, plan, small_, scalar_kernels(), {}, files));
  EXPECT_TRUE(files.refused());
  EXPECT_FALSE(std::filesystem::exists(small_));
}

}  // namespace
}  // namespace diecast::testing
