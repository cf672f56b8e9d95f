// Bundles of what the real NVRTC compiles: two builds of one commit, by other users in other places
// at other times, are one digest.
#include <diecast/base/process.h>
#include <diecast/compile/nvrtc.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "temporary_directory.h"

namespace diecast {
namespace {

// A process of somebody's own: another home, another cache, another place, other variables.
ProcessResult create(const testing::TemporaryDirectory& home, const std::string& jobs) {
  const std::string work = home / "work", manifest = home / "kernels.txt";
  EXPECT_EQ(::mkdir(work.c_str(), 0700), 0);
  testing::write_text(manifest,
                      "amax IN=bf16 COLS=0,4096 @ sm_90a sm_100a\n"
                      "quantize_nvfp4 COLS=4096 IN=bf16 @ sm_90a\n"
                      "dequantize_nvfp4 OUT=bf16 @ sm_80\n");
  ProcessRequest request;
  request.arguments = {DIECAST_TOOL, "bundle",       "create", manifest,
                       "-o",         home / "k.dcb", "--jobs", jobs};
  request.environment = {"HOME=" + home.path(), "DIECAST_CACHE=" + (home / "cache"),
                         "TMPDIR=" + work, "USER=" + home.path()};
  for (const char* name : {"PATH", "DIECAST_NVRTC", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name))
      request.environment.push_back(std::string(name) + "=" + value);
  }
  request.directory = work;
  return run_process(request).value();
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

}  // namespace
}  // namespace diecast
