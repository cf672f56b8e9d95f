// The NVRTC compiler against a fake NVRTC that lies, fails and waits as told.
#include <diecast/compile/nvrtc.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fake/nvrtc_script.h"

namespace diecast {
namespace {

using testing::FakeNvrtc;

const Source kSource{"quantize.cu", "quantize",
                     "extern \"C\" __global__ void __launch_bounds__(128) quantize(int* x) {}\n"};

Target target(const char* name) { return Target::parse(name).value(); }

std::shared_ptr<Compiler> open(const FakeNvrtc& fake) { return open_nvrtc(fake.search()).value(); }

std::string rejection(const FakeNvrtc& fake, const char* name = "sm_90a") {
  const auto artifact = open(fake)->compile(kSource, target(name));
  return artifact ? "compiled" : artifact.error().message();
}

TEST(NvrtcCompiler, NamesItsVersionAndTheBuildsOfItsTwoFiles) {
  const FakeNvrtc fake("12.9");
  const auto compiler = open(fake);
  EXPECT_EQ(compiler->identity().substr(0, 11), "nvrtc-12.9-");
  EXPECT_EQ(compiler->identity().substr(11).find_first_not_of("0123456789abcdef-"),
            std::string::npos);
  EXPECT_EQ(compiler->identity().size(), 11u + 8 + 1 + 8);
  EXPECT_EQ(compiler->description(), "NVRTC 12.9 (" + fake.path() + ")");
  EXPECT_EQ(open(fake)->identity(), compiler->identity());
}

TEST(NvrtcCompiler, OfAnotherBuildHasAnotherIdentity) {
  const FakeNvrtc fake;
  const std::string before = open(fake)->identity();
  testing::write_text(fake.directory() + "/libnvrtc-builtins.so.13.0", "another build");
  EXPECT_NE(open(fake)->identity(), before);
}

TEST(NvrtcCompiler, UnderVariablesThatChangeItsCodeHasAnotherIdentity) {
  const FakeNvrtc fake;
  const std::string plain = open(fake)->identity();
  ::setenv("NVRTC_APPEND_FLAGS", "-G", 1);
  const std::string debug = open(fake)->identity();
  ::setenv("NVRTC_APPEND_FLAGS", "-use_fast_math", 1);
  const std::string fast = open(fake)->identity();
  ::setenv("NVRTC_APPEND_FLAGS", "", 1);
  EXPECT_EQ(open(fake)->identity(), plain);
  ::unsetenv("NVRTC_APPEND_FLAGS");
  EXPECT_EQ(debug.substr(0, plain.size() + 4), plain + "-env");
  EXPECT_EQ(debug.size(), plain.size() + 12);
  EXPECT_NE(debug, fast);
  ::setenv("NV_NVVM_VERSION", "nvvm-latest", 1);
  EXPECT_NE(open(fake)->identity(), plain);
  ::unsetenv("NV_NVVM_VERSION");
}

TEST(NvrtcCompiler, FillsTheArtifact) {
  FakeNvrtc fake;
  fake.set("REGISTERS", "40");
  fake.set("SPILL", "24");
  fake.set("STACK", "64");
  fake.set("SHARED", "512");
  fake.set("LOG", "quantize.cu(1): warning #177-D: \"x\" was never referenced\n");
  const auto compiler = open(fake);
  const Artifact artifact = compiler->compile(kSource, target("sm_100f")).value();
  EXPECT_EQ(artifact.kind, Artifact::Kind::cubin);
  EXPECT_EQ(artifact.target, target("sm_100f"));
  EXPECT_EQ(artifact.symbol, "quantize");
  EXPECT_EQ(artifact.compiler, compiler->identity());
  EXPECT_EQ(artifact.registers, 40);
  EXPECT_EQ(artifact.spill_bytes, 24);
  EXPECT_EQ(artifact.local_bytes, 64);
  EXPECT_EQ(artifact.static_shared_bytes, 512);
  EXPECT_EQ(artifact.log, "quantize.cu(1): warning #177-D: \"x\" was never referenced");
  EXPECT_GT(artifact.compile_ms, 0);
  EXPECT_TRUE(check_cubin(artifact.payload, target("sm_100f"), "quantize"));
}

TEST(NvrtcCompiler, GivesTheCodeOptionsAndThreeThatDecideNoCode) {
  const FakeNvrtc fake;
  ASSERT_TRUE(open(fake)->compile(kSource, target("sm_90a")));
  ASSERT_EQ(fake.compiles().size(), 1u);
  EXPECT_NE(fake.compiles()[0].find(
                " name=quantize.cu options=--gpu-architecture=sm_90a --std=c++17 -default-device "
                "--fmad=false --ptxas-options=-v --no-source-include --no-cache -minimal"),
            std::string::npos)
      << fake.compiles()[0];
}

TEST(NvrtcCompiler, KeepsAnOptionFromAVersionThatDoesNotKnowIt) {
  const FakeNvrtc fake("12.3");
  ASSERT_TRUE(open(fake)->compile(kSource, target("sm_90a")));
  EXPECT_EQ(fake.compiles()[0].find("--no-cache"), std::string::npos);
  EXPECT_EQ(fake.compiles()[0].find("-minimal"), std::string::npos);
  EXPECT_NE(fake.compiles()[0].find("--no-source-include"), std::string::npos);
}

TEST(NvrtcCompiler, NamesTheVersionThatHasATarget) {
  const FakeNvrtc fake("12.4");
  EXPECT_EQ(
      rejection(fake, "sm_100a"),
      "diecast: target_not_supported: NVRTC 12.4 cannot build for sm_100a; its architectures: "
      "sm_50 sm_75 sm_80 sm_86 sm_87 sm_89 sm_90\n"
      "  fix: use NVRTC 12.8 or later, and name it in DIECAST_NVRTC");
  const auto compiler = open(fake);
  EXPECT_TRUE(compiler->accepts(target("sm_90a")));
  for (const auto& [name, version] : {std::pair{"sm_120a", "12.8"},
                                      {"sm_103a", "12.9"},
                                      {"sm_121a", "12.9"},
                                      {"sm_100f", "12.9"},
                                      {"sm_120f", "12.9"},
                                      {"sm_88", "13.0"},
                                      {"sm_110f", "13.0"}})
    EXPECT_EQ(compiler->accepts(target(name)).error().fix,
              std::string("use NVRTC ") + version + " or later, and name it in DIECAST_NVRTC")
        << name;
  EXPECT_TRUE(fake.compiles().empty());
}

TEST(NvrtcCompiler, RefusesAFamilyThatItsVersionCannotSpell) {
  EXPECT_FALSE(open(FakeNvrtc("12.8"))->accepts(target("sm_100f")));
  EXPECT_TRUE(open(FakeNvrtc("12.8"))->accepts(target("sm_100a")));
  EXPECT_TRUE(open(FakeNvrtc("12.9"))->accepts(target("sm_100f")));
}

TEST(NvrtcCompiler, SaysWhenItIsTooNewForATarget) {
  FakeNvrtc fake("13.5");
  fake.set("ARCHS", "90 100 120");
  EXPECT_EQ(open(fake)->accepts(target("sm_80")).error().fix,
            "use an older NVRTC, and name it in DIECAST_NVRTC");
  EXPECT_EQ(open(fake)->accepts(target("host")).error().what, "NVRTC does not build for host");
}

TEST(NvrtcCompiler, ShowsTheLogOfARejectedSource) {
  FakeNvrtc fake;
  fake.set("FAIL", "nvrtcCompileProgram=6");
  fake.set("LOG", "quantize.cu(20): error: identifier \"y\" is \x1b[1mundefined\n");
  EXPECT_EQ(rejection(fake),
            "diecast: compile_failed: quantize.cu for sm_90a: NVRTC 13.0 rejected the source\n"
            "  quantize.cu(20): error: identifier \"y\" is \\x1b[1mundefined\n"
            "  fix: mend quantize.cu at line 20");
}

TEST(NvrtcCompiler, TellsMissingMemoryAndMissingBuiltinsFromOtherFailures) {
  FakeNvrtc fake;
  fake.set("FAIL", "nvrtcCompileProgram=1");
  EXPECT_EQ(rejection(fake),
            "diecast: out_of_memory: quantize.cu for sm_90a: NVRTC 13.0: nvrtcCompileProgram gave "
            "NVRTC_ERROR_OUT_OF_MEMORY (1)\n"
            "  fix: free memory; a compile takes about 100 MB");
  fake.set("FAIL", "nvrtcCompileProgram=7");
  EXPECT_EQ(
      rejection(fake),
      "diecast: compiler_unavailable: quantize.cu for sm_90a: NVRTC 13.0: nvrtcCompileProgram "
      "gave NVRTC_ERROR_BUILTIN_OPERATION_FAILURE (7)\n"
      "  fix: install libnvrtc-builtins.so.13.0 of the same release beside " +
          fake.path());
}

TEST(NvrtcCompiler, TurnsEveryResultIntoAnError) {
  FakeNvrtc fake;
  for (const char* function :
       {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"})
    for (const int status : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 999}) {
      fake.set("FAIL", std::string(function) + "=" + std::to_string(status));
      const auto artifact = open(fake)->compile(kSource, target("sm_90a"));
      ASSERT_FALSE(artifact) << function << " " << status;
      EXPECT_FALSE(artifact.error().fix.empty());
    }
}

TEST(NvrtcCompiler, DoesWithoutALogThatCannotBeHad) {
  FakeNvrtc fake;
  for (const char* function : {"nvrtcGetProgramLogSize", "nvrtcGetProgramLog"}) {
    fake.set("FAIL", std::string(function) + "=11");
    const Artifact artifact = open(fake)->compile(kSource, target("sm_90a")).value();
    EXPECT_EQ(artifact.log, "");
    EXPECT_EQ(artifact.registers, 0);
  }
}

TEST(NvrtcCompiler, ReadsALogThatDoesNotEnd) {
  FakeNvrtc fake;
  fake.set("LOG", "warning\n");
  fake.set("LOG_ENDLESS", "1");
  fake.set("LOG_SIZE", "9");
  EXPECT_EQ(open(fake)->compile(kSource, target("sm_90a")).value().log, "warning\nx");
}

TEST(NvrtcCompiler, LeavesAMonstrousLogOut) {
  FakeNvrtc fake;
  fake.set("LOG_SIZE", "1099511627776");
  EXPECT_EQ(open(fake)->compile(kSource, target("sm_90a")).value().log,
            "[a log of 1 TiB is left out]");
}

TEST(NvrtcCompiler, BelievesNoCubinItDidNotCheck) {
  FakeNvrtc fake;
  fake.set("CUBIN_SIZE", "0");
  EXPECT_EQ(rejection(fake),
            "diecast: internal: NVRTC 13.0 compiled, then named a cubin of 0 bytes\n"
            "  fix: try another version of NVRTC through DIECAST_NVRTC");
  fake.set("CUBIN_SIZE", "1099511627776");
  EXPECT_NE(rejection(fake).find("a cubin of 1099511627776 bytes"), std::string::npos);
  fake.set("CUBIN_SIZE", "200");
  EXPECT_NE(rejection(fake).find("lies outside of 200 bytes"), std::string::npos);
  fake.unset("CUBIN_SIZE");
  fake.set("CUBIN", "garbage");
  EXPECT_NE(rejection(fake).find("too few for an ELF header"), std::string::npos);
  fake.unset("CUBIN");
  fake.set("CC", "80");
  EXPECT_NE(rejection(fake).find("built for sm_80, not for sm_90a"), std::string::npos);
  fake.unset("CC");
  fake.set("SYMBOL", "dequantize");
  EXPECT_EQ(rejection(fake),
            "diecast: compile_failed: quantize.cu for sm_90a: the cubin of NVRTC 13.0 is not the "
            "machine code expected: no function \"quantize\" among its symbols\n"
            "  fix: declare the kernel quantize in quantize.cu with DIECAST_KERNEL");
}

TEST(NvrtcCompiler, RunsOnManyThreadsButFourAtOnce) {
  FakeNvrtc fake;
  fake.set("SLEEP_MS", "20");
  const auto compiler = open(fake);
  std::atomic<int> compiled = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] { compiled += compiler->compile(kSource, target("sm_90a")).ok(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 16);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  int most = 0;
  for (const std::string& line : fake.compiles())
    most = std::max(most, std::atoi(line.c_str() + line.find("running=") + 8));
  EXPECT_LE(most, static_cast<int>(std::min(cores, 4u)));
  EXPECT_EQ(fake.compiles().size(), 16u);
}

TEST(NvrtcCompiler, OutlivesTheSearchThatFoundIt) {
  std::shared_ptr<Compiler> compiler;
  {
    NvrtcSearch search = FakeNvrtc("12.9").search();
    const FakeNvrtc fake;
    compiler = open(fake);
  }
  EXPECT_TRUE(compiler->compile(kSource, target("sm_90a")));
}

}  // namespace
}  // namespace diecast
