// examples/quality: what it prints is the table of templates/ACCURACY.md, and its picture is there.
// That it and sample_checkpoint tell options from files.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "how_many.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

const std::string kExamples = DIECAST_BUILD_DIR "/examples/";

ProcessResult run(std::vector<std::string> arguments) {
  ProcessRequest request;
  request.arguments = std::move(arguments);
  return run_process(request).value();
}

// Every day of the drawn matrices, else of the checkpoint too, which takes ten seconds.
TEST(Quality, IsAsTheAccuracyPageSays) {
  if (!std::filesystem::exists(kExamples + "quality")) GTEST_SKIP() << "examples are not built";
  const testing::TemporaryDirectory folder;
  const std::string picture = folder / "quality.svg", weights = folder / "weights.safetensors";
  std::vector<std::string> words = {kExamples + "quality", picture};
  if (testing::how_many(0, 1, 1) == 1) {
    ASSERT_EQ(run({kExamples + "sample_checkpoint", weights}).exit_code, 0);
    words.push_back(weights);
  }
  const std::string page = testing::text_of(DIECAST_SOURCE_DIR "/templates/ACCURACY.md");
  const std::string table = run(words).output;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 10);
  for (const std::string_view line : split(table, '\n')) {
    EXPECT_NE(page.find(cat("\n", line)), page.npos) << line;
  }
  EXPECT_NE(testing::text_of(picture).find("row-scaled: 20.4"), std::string::npos);
}

// Who asks them for help gets it, and no file of that name.
TEST(Examples, WriteNoFileThatIsNamedLikeAnOption) {
  for (const std::string name : {"quality", "sample_checkpoint"}) {
    if (!std::filesystem::exists(kExamples + name)) GTEST_SKIP() << "examples are not built";
    const testing::TemporaryDirectory folder;
    ProcessRequest request;
    request.arguments = {kExamples + name, "--help"};
    request.directory = folder.path();
    const ProcessResult help = run_process(request).value();
    EXPECT_EQ(help.exit_code, 2) << name;
    EXPECT_EQ(help.errors.find("usage: " + name + " FILE"), 0u) << help.errors;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << name;
  }
}

}  // namespace
}  // namespace diecast
