// Where `diecast compile` writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tool/run_tool.h"

namespace diecast {
namespace {

TEST(CompileOutput, ADashIsStandardOutputAndNothingElseIsWrittenThere) {
  testing::ToolRun diecast;
  const std::string file = diecast.folder / "amax.cubin", line = "amax IN=bf16 @ sm_90a";
  ASSERT_EQ(diecast({"compile", line, "-o", file}).exit_code, 0);
  std::ifstream written(file, std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(written), {}};
  EXPECT_FALSE(cubin.empty());
  const auto run = diecast({"compile", line, "-o", "-"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_TRUE(run.output == cubin);
  const auto source = diecast({"compile", line, "--source", "-o", "-"});
  EXPECT_EQ(source.exit_code, 0) << source.errors;
  EXPECT_EQ(source.output + "\n", diecast({"compile", line, "--source"}).output);
  EXPECT_FALSE(std::filesystem::exists("-"));
  const auto both = diecast({"compile", line, "-o", "-", "--json"});
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_EQ(both.errors,
            "diecast: invalid_argument: -o - and --json would both write standard output\n"
            "  fix: leave one of them out\n");
}

}  // namespace
}  // namespace diecast
