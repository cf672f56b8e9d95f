// The recorded GPU runs: few enough to clone, and each says when, from which commit and on what.
#include <gtest/gtest.h>
#include <tree/files.h>

namespace diecast::tree {
namespace {

std::vector<std::string> recorded() {
  std::vector<std::string> out;
  for (const std::string& name : files())
    if (name.starts_with("tests/gpu-results/")) out.push_back(name);
  return out;
}

TEST(GpuResults, TakeHalfAMegabyteAtMost) {
  std::size_t bytes = 0;
  for (const std::string& name : recorded()) bytes += text_of(name).size();
  EXPECT_GT(bytes, 100'000u);
  EXPECT_LE(bytes, 500'000u) << "remove the runs that newer ones replace";
}

TEST(GpuResults, SayWhenAndFromWhichCommitEachRunIs) {
  int runs = 0;
  for (const std::string& name : recorded()) {
    if (!name.ends_with(".txt")) continue;
    ++runs;
    const std::string text = text_of(name);
    const auto lines = split(text, '\n');
    ASSERT_GT(lines.size(), 3u) << name;
    EXPECT_TRUE(lines[0].starts_with("date    20") || lines[0].starts_with("run     20")) << name;
    ASSERT_TRUE(lines[1].starts_with("commit  ")) << name;
    EXPECT_NE(name.find(lines[1].substr(8)), name.npos) << name << " is of another commit";
    EXPECT_NE(text.find("NVIDIA H"), text.npos) << name << " names no device";
  }
  EXPECT_GT(runs, 4);
}

}  // namespace
}  // namespace diecast::tree
