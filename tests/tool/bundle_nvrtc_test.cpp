// What the command has the real NVRTC compile, in a process each: bundles of two builds of one
// commit, by other users in other places at other times, are one digest; variables, relative paths.
#include <diecast/base/process.h>
#include <diecast/compile/nvrtc.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "temporary_directory.h"

namespace diecast {
namespace {

// A process of somebody's own: another home, another cache, another place, other variables.
using Texts = std::vector<std::string>;
ProcessResult run(const testing::TemporaryDirectory& home, const Texts& arguments,
                  const Texts& set = {}) {
  const std::string work = home / "work";
  EXPECT_EQ(::mkdir(work.c_str(), 0700), 0);
  ProcessRequest request;
  request.arguments = {DIECAST_TOOL};
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  request.environment = {"HOME=" + home.path(), "DIECAST_CACHE=" + (home / "cache"),
                         "TMPDIR=" + work, "USER=" + home.path()};
  for (const char* name : {"PATH", "DIECAST_NVRTC", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name))
      request.environment.push_back(std::string(name) + "=" + value);
  }
  request.environment.insert(request.environment.end(), set.begin(), set.end());
  request.directory = work;
  return run_process(request).value();
}

ProcessResult create(const testing::TemporaryDirectory& home, const std::string& jobs) {
  const std::string manifest = home / "kernels.txt";
  testing::write_text(manifest,
                      "amax IN=bf16 COLS=0,4096 @ sm_90a sm_100a\n"
                      "quantize_nvfp4 COLS=4096 IN=bf16 @ sm_90a\n"
                      "dequantize_nvfp4 OUT=bf16 @ sm_80\n");
  return run(home, {"bundle", "create", manifest, "-o", home / "k.dcb", "--jobs", jobs});
}

TEST(ToolBundleNvrtc, OfOneCommitHasOneDigestWhoeverMakesItWhereAndWhen) {
  const auto compiler = open_nvrtc(NvrtcSearch::from_environment());
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  const testing::TemporaryDirectory one, two;
  const auto first = create(one, "1"), second = create(two, "2");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  const auto pin = [](const std::string& output) {
    return output.substr(output.find("\nsha256 "), 8 + 64);
  };
  EXPECT_NE(first.output.find(": 6 kernels, "), std::string::npos) << first.output;
  EXPECT_EQ(pin(first.output), pin(second.output));
  const std::string bytes = testing::text_of(one / "k.dcb");
  EXPECT_TRUE(bytes == testing::text_of(two / "k.dcb"));
  EXPECT_EQ(bytes.find(one.path()), std::string::npos);  // nor a name or a path in it
}

// Its identity tells of a variable that changes code, so that goes with it: else no compile would
// be what was asked for.
TEST(ToolWarmNvrtc, GoesUnderVariablesThatChangeCode) {
  const auto compiler = open_nvrtc(NvrtcSearch::from_environment());
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  const testing::TemporaryDirectory home;
  testing::write_text(home / "kernels.txt", "zeros @ sm_90a\n");
  const auto warmed = run(home, {"warm", home / "kernels.txt"}, {"NVRTC_APPEND_FLAGS=-lineinfo"});
  EXPECT_EQ(warmed.exit_code, 0) << warmed.errors;
  EXPECT_NE(warmed.output.find("1 compiled"), std::string::npos) << warmed.output;
}

TEST(ToolWarmNvrtc, FindsACompilerByARelativePath) {
  const testing::TemporaryDirectory home;
  testing::write_text(home / "kernels.txt", "zeros @ host\n");
  testing::write_text(home / "cxx", "#!/bin/sh\nexec c++ \"$@\"\n");
  ASSERT_EQ(::chmod((home / "cxx").c_str(), 0700), 0);
  const auto warmed = run(home, {"warm", home / "kernels.txt"}, {"DIECAST_CXX=../cxx"});
  if (warmed.errors.find("no C++ compiler") != std::string::npos) GTEST_SKIP() << warmed.errors;
  EXPECT_EQ(warmed.exit_code, 0) << warmed.errors;
  EXPECT_NE(warmed.output.find("1 compiled"), std::string::npos) << warmed.output;
}

}  // namespace
}  // namespace diecast
