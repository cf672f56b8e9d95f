// The options that decide the code, pinned: they are part of every key, so a change here makes
// every cached artifact a miss.
#include <diecast/compile/compiler.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace diecast {
namespace {

bool has(const std::vector<std::string>& options, const std::string& option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

TEST(CodeOptions, OfACudaTargetAreTheseFive) {
  EXPECT_EQ(code_options({Target::Kind::cuda, 100, 'f', 1}),
            (std::vector<std::string>{"--gpu-architecture=sm_100f", "--std=c++17",
                                      "-default-device", "--fmad=false", "--ptxas-options=-v"}));
}

TEST(CodeOptions, OfTheHostNeverContractAndNeverTakeTheMachineAsItIs) {
  for (const int level : {1, 3}) {
    const auto options = host_options({Target::Kind::host, 0, 0, level}, "");
    EXPECT_TRUE(has(options, "-ffp-contract=off"));
    EXPECT_TRUE(has(options, "-fno-fast-math"));
    EXPECT_FALSE(has(options, "-march=native"));
    EXPECT_FALSE(has(options, "-mfma"));
    EXPECT_FALSE(has(options, "-fno-trapping-math"));
  }
}

#if defined(__x86_64__)
TEST(CodeOptions, OfTheHostNameItsInstructionSet) {
  const auto baseline = host_options({Target::Kind::host, 0, 0, 1}, "");
  EXPECT_TRUE(has(baseline, "-march=x86-64"));
  EXPECT_FALSE(has(baseline, "-mavx2"));
  const auto avx2 = host_options({Target::Kind::host, 0, 0, 3}, "");
  EXPECT_TRUE(has(avx2, "-mavx2"));
  EXPECT_TRUE(has(avx2, "-mno-fma"));
}
#endif

TEST(CodeOptions, OfTheHostFollowTheSanitizerOfTheLibrary) {
  const Target host;
  EXPECT_EQ(code_options(host), host_options(host, built_sanitizer()));
  EXPECT_TRUE(has(host_options(host, "address,undefined"), "-fsanitize=address,undefined"));
  EXPECT_NE(host_options(host, "thread"), host_options(host, ""));
}

TEST(CodeOptions, OfBuildsThatNameTheirLinesAskForThem) {
  const Target host, cuda{Target::Kind::cuda, 90, 'a', 1};
  for (const BuildKind build : {BuildKind::lines, BuildKind::debug}) {
    EXPECT_TRUE(has(code_options(cuda, build), "--generate-line-info"));
    EXPECT_TRUE(has(code_options(host, build), "-g"));
    EXPECT_TRUE(has(code_options(host, build), build == BuildKind::debug ? "-O1" : "-O2"));
  }
  EXPECT_EQ(code_options(cuda, BuildKind::plain), code_options(cuda));
  EXPECT_FALSE(has(code_options(host), "-g"));
}

TEST(RejectedSource, ShowsTheLogAndTheLineToMend) {
  const Source source{"quantize.cu", "quantize", ""};
  EXPECT_EQ(rejected_source(source, {Target::Kind::cuda, 90, 'a', 1}, "NVRTC 13.0",
                            "quantize.cu(20): error: identifier \"y\" is undefined\n")
                .message(),
            "diecast: compile_failed: quantize.cu for sm_90a: NVRTC 13.0 rejected the source\n"
            "  quantize.cu(20): error: identifier \"y\" is undefined\n"
            "  fix: mend quantize.cu at line 20");
  EXPECT_EQ(
      rejected_source(source, {}, "g++ 12.2.0", "diecast/device/base/simt.h:3:1: error: e").fix,
      "mend quantize.cu or the headers it includes, where the lines above point");
}

}  // namespace
}  // namespace diecast
