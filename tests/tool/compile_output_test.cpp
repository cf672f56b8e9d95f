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

constexpr const char* kAmax = "amax IN=bf16 @ sm_90a";

TEST(CompileOutput, PtxIsWhatTheCompilerMakesOnItsWay) {
  testing::ToolRun diecast;
  const auto run = diecast({"compile", kAmax, "--ptx"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.output, ".target sm_90a\n.visible .entry amax()\n\n");
  const auto host = diecast({"compile", "amax IN=bf16 @ host", "--ptx"});
  EXPECT_EQ(host.exit_code, 1);
  EXPECT_NE(host.errors.find("fix: name a GPU's target, as sm_90a"), std::string::npos)
      << host.errors;
}

// A program that says what it was given, as a disassembler does.
void write_program(const std::string& path, const std::string& text) {
  testing::write_text(path, "#!/bin/sh\n" + text);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST(CompileOutput, SassIsWhatADisassemblerMakesOfTheCubin) {
  testing::ToolRun diecast;
  const std::string cubin = diecast.folder / "amax.cubin";
  ASSERT_EQ(diecast({"compile", kAmax, "-o", cubin}).exit_code, 0);
  const std::string named = diecast.folder / "my-nvdisasm";
  write_program(named, "cmp \"$1\" " + cubin + " && echo EXIT");
  diecast.set("DIECAST_NVDISASM", named);
  const auto run = diecast({"compile", kAmax, "--sass"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.output, "EXIT\n\n");

  const std::string other = diecast.folder / "cuobjdump";
  write_program(other, "[ \"$1\" = -sass ] && cmp \"$2\" " + cubin + " && echo dumped");
  diecast.set("DIECAST_NVDISASM", other);
  EXPECT_EQ(diecast({"compile", kAmax, "--sass"}).output, "dumped\n\n");
}

TEST(CompileOutput, SassWithoutADisassemblerThatReadsItIsAnError) {
  testing::ToolRun diecast;
  const std::string old = diecast.folder / "old";
  write_program(old, "echo unknown architecture >&2; exit 1");
  diecast.set("DIECAST_NVDISASM", old);
  const auto refused = diecast({"compile", kAmax, "--sass"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.errors.find("unknown architecture\n  fix: name a disassembler that knows "
                                "sm_90a in DIECAST_NVDISASM"),
            std::string::npos)
      << refused.errors;
  diecast.set("DIECAST_NVDISASM", diecast.folder / "none");
  EXPECT_NE(diecast({"compile", kAmax, "--sass"}).errors.find("which is no program"),
            std::string::npos);
  const auto host = diecast({"compile", "amax IN=bf16 @ host", "--sass"});
  EXPECT_NE(host.errors.find("the host's machine code is no SASS"), std::string::npos)
      << host.errors;
  diecast.set("DIECAST_NVDISASM", "");
  diecast.set("PATH", diecast.folder.path());
  diecast.set("CUDA_HOME", diecast.folder.path());
  if (std::filesystem::exists("/usr/local/cuda/bin/nvdisasm")) GTEST_SKIP() << "a toolkit's";
  const auto none = diecast({"compile", kAmax, "--sass"});
  EXPECT_NE(none.errors.find("process_failed: no disassembler"), std::string::npos) << none.errors;
}

}  // namespace
}  // namespace diecast
