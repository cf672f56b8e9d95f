// The cache's subcommands, and warming: what they print, their exit codes, and the
// bounds of an isolated compile.
#include <diecast/base/text.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::text_of;
using testing::ToolRun;
using testing::tree;

constexpr char kLine[] = "amax IN=bf16,f16,f32 @ sm_90a\n";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string manifest(ToolRun& diecast, const std::string& text = kLine) {
  testing::write_text(diecast.folder / "manifest.txt", text);
  return diecast.folder / "manifest.txt";
}

// A root that others may write is left out, and that is said where a person sees it.
TEST(ToolCache, SaysThatARootIsNotUsed) {
  ToolRun diecast;
  const std::string root = diecast.folder / "shared";
  ASSERT_EQ(::chmod(diecast.folder.path().c_str(), 0755), 0);  // others get here
  std::filesystem::create_directory(root);
  std::filesystem::permissions(root, std::filesystem::perms::all);
  diecast.set("DIECAST_CACHE", root);
  const auto run = diecast({"compile", "amax IN=bf16 @ sm_90a"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.errors.find("diecast: cache: left out: rw:" + root + ": the cache root \"" + root +
                            "\" can be written by everybody (mode 777)"),
            0u)
      << run.errors;
}

// A disk that takes no files of more than a kilobyte.
TEST(ToolWarm, FailsWhereNothingOfItCouldBeKept) {
  ToolRun diecast;
  ProcessRequest request;
  request.arguments = {"/bin/bash",   "-c",   "ulimit -f 1; exec \"$0\" \"$@\"",
                       DIECAST_TOOL,  "warm", manifest(diecast),
                       "--in-process"};
  request.environment = diecast.environment();
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.output, "3 wanted: 3 compiled")) << run.output;
  EXPECT_TRUE(has(run.errors, "diecast: io_error: cannot write 3 kernels to \"" +
                                  diecast.cache_path() + "\": File too large (errno 27)\n"))
      << run.errors;
}

TEST(ToolCache, VerifiesPrunesAndClears) {
  ToolRun diecast;
  ASSERT_EQ(diecast({"warm", manifest(diecast)}).exit_code, 0);
  EXPECT_EQ(diecast({"cache", "verify"}).output, "3 good, 0 damaged\n");
  EXPECT_EQ(diecast({"cache", "verify", "--rebuild"}).output,
            "3 good, 0 damaged; 3 compiled again, 0 different, 0 by other compilers\n");
  const auto dry = diecast({"cache", "prune", "--max-bytes", "1", "--dry-run"});
  EXPECT_TRUE(has(dry.output, "3 entries") && has(dry.output, "would remove 3")) << dry.output;
  EXPECT_TRUE(has(diecast({"cache", "prune"}).output, "removed 0"));
  EXPECT_TRUE(has(diecast({"cache", "clear"}).output, "removed 3"));
  EXPECT_EQ(diecast({"cache", "verify"}).output, "0 good, 0 damaged\n");
}

// N-11: a compiler that does not give the same bytes again is found out.
TEST(ToolCache, VerifyNamesWhatIsCompiledDifferently) {
  ToolRun diecast;
  ASSERT_EQ(diecast({"warm", manifest(diecast, "amax IN=bf16 @ sm_90a\n")}).exit_code, 0);
  diecast.set("DIECAST_FAKE_NVRTC_SEED", "2");
  const auto verified = diecast({"cache", "verify", "--rebuild"});
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_TRUE(has(verified.output, "different: amax COLS=0 ")) << verified.output;
  EXPECT_TRUE(has(verified.output,
                  "\n1 good, 0 damaged; 1 compiled again, 1 different, 0 by other compilers\n"))
      << verified.output;
}

TEST(ToolCache, PrunesToTheSizeThatTheEnvironmentGives) {
  ToolRun diecast;
  ASSERT_EQ(diecast({"warm", manifest(diecast)}).exit_code, 0);
  diecast.set("DIECAST_CACHE_BYTES", "1");
  EXPECT_TRUE(has(diecast({"cache", "prune", "--dry-run"}).output, "would remove 3"));
  EXPECT_TRUE(
      has(diecast({"cache", "prune", "--dry-run", "--max-bytes", "0"}).output, "would remove 0"));
}

TEST(ToolCache, VerifyNamesWhatIsDamaged) {
  ToolRun diecast;
  ASSERT_EQ(diecast({"warm", manifest(diecast)}).exit_code, 0);
  const std::string root = diecast.cache_path();
  for (const std::string& name : tree(root)) {
    if (!name.ends_with(".dce")) continue;
    std::string bytes = text_of(root + "/" + name);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    testing::write_text(root + "/" + name, bytes);
    break;
  }
  const auto verified = diecast({"cache", "verify"});
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_TRUE(has(verified.output, ".dce: bad_checksum\n2 good, 1 damaged\n")) << verified.output;
  const auto stats = nlohmann::json::parse(diecast({"cache", "stats", "--json"}).output);
  EXPECT_EQ(stats.at("roots").at(0).at("not_entries").at("bad_checksum"), 1);
  EXPECT_EQ(stats.at("roots").at(0).at("counts").at("compiled"), 3);
  EXPECT_EQ(diecast({"warm", manifest(diecast)}).exit_code, 0);  // mends it
  EXPECT_EQ(diecast({"cache", "verify"}).output, "3 good, 0 damaged\n");
}

TEST(ToolWarm, TellsProgramsEveryCounter) {
  ToolRun diecast;
  const auto json = [&] {
    return nlohmann::json::parse(diecast({"warm", manifest(diecast), "--json"}).output);
  };
  const auto cold = json();
  EXPECT_EQ(cold.at("specializations").size(), 3u);
  EXPECT_EQ(cold.at("counters").at("compiled"), 3);
  EXPECT_EQ(cold.at("counters").at("published"), 3);
  EXPECT_EQ(cold.at("counters").at("roots").at(0).at("publishes"), 3);
  const std::string root = diecast.cache_path();
  for (const std::string& name : tree(root)) {
    if (name.ends_with(".dce")) testing::write_text(root + "/" + name, "damaged");
  }
  const auto damaged = json().at("counters").at("roots").at(0);
  EXPECT_EQ(damaged.at("root"), root);
  EXPECT_GE(damaged.at("faults").at("too_short"), 3);
  EXPECT_EQ(damaged.at("replaced"), 3);
  for (const char* counter : {"misses", "rejected", "refused", "already_there", "publish_failures",
                              "publishes_skipped", "lock_waits", "lock_timeouts", "lock_failures"})
    EXPECT_TRUE(damaged.contains(counter)) << counter;
  const auto warm = json().at("counters");
  EXPECT_EQ(warm.at("disk_hits"), 3);
  EXPECT_EQ(warm.at("roots").at(0).at("hits"), 3);
}

TEST(ToolWarm, ReplaysATrace) {
  ToolRun diecast, other;
  const std::string trace = diecast.folder / "trace";
  diecast.set("DIECAST_TRACE", trace);
  ASSERT_EQ(diecast({"compile", "amax IN=bf16,f16 @ sm_90a"}).exit_code, 0);
  ASSERT_EQ(diecast({"compile", "amax IN=bf16 @ sm_90a"}).exit_code, 0);
  const auto warmed = other({"warm", "--from", trace});
  EXPECT_TRUE(has(warmed.output, "2 wanted: 2 compiled")) << warmed.output << warmed.errors;
  EXPECT_EQ(other({"warm", "--from", trace, "--expect-no-new"}).exit_code, 0);
}

// N-06: what hangs is ended, reported and never cached.
TEST(ToolWarm, EndsACompileThatTakesTooLong) {
  ToolRun diecast;
  diecast.set("DIECAST_FAKE_NVRTC_SLEEP_MS", "60000");
  const auto run =
      diecast({"warm", manifest(diecast, "amax IN=bf16 @ sm_90a\n"), "--time-limit", "0.5"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(
      run.errors.substr(run.errors.find("diecast: ")),
      "diecast: timed_out: compiling amax.cu for sm_90a took longer than 0.5 s and was ended\n"
      "  fix: look for an endless loop in the template, or allow more (--time-limit)\n");
  EXPECT_EQ(diecast({"cache", "verify"}).output, "0 good, 0 damaged\n");
}

// A compiler that starts a program of its own and waits for it, and a folder for the temporary
// files of what runs. Both programs write their numbers to `started`.
struct SlowCompiler {
  explicit SlowCompiler(ToolRun& diecast)
      : started(diecast.folder / "started"), temporary(diecast.folder / "temporary") {
    const std::string compiler = diecast.folder / "c++";
    testing::write_text(compiler,
                        "#!/bin/sh\n"
                        "case $1 in\n"
                        "--version) echo 'g++ (slow) 12.2.0' ;;\n"
                        "-###) echo Target: x86_64-linux-gnu >&2 ;;\n"
                        "*) sleep 600 & echo $$ $! >" +
                            started + "; wait ;;\nesac\n");
    EXPECT_EQ(::chmod(compiler.c_str(), 0700), 0);
    EXPECT_EQ(::mkdir(temporary.c_str(), 0700), 0);
    diecast.set("DIECAST_CXX", compiler);
    diecast.set("TMPDIR", temporary);
  }
  const std::string started, temporary;
};

void expect_ended(const std::string& started, int expected) {
  std::istringstream numbers(text_of(started));
  int programs = 0;
  for (int program = 0; numbers >> program; ++programs) {
    const std::string status = "/proc/" + std::to_string(program) + "/stat";
    const auto runs = [&] {  // one that has ended may wait for somebody to ask how
      const std::string text = text_of(status);
      return !text.empty() && !has(text, ") Z ");
    };
    for (int i = 0; i < 200 && runs(); ++i) ::usleep(10000);
    EXPECT_FALSE(runs()) << text_of(status);
  }
  EXPECT_EQ(programs, expected);
}

// N-06 on the host: the compiler is a program with programs of its own, and none is left.
TEST(ToolWarm, EndsAHostCompilerWithEverythingBelowIt) {
  ToolRun diecast;
  const SlowCompiler compiler(diecast);
  const auto run =
      diecast({"warm", manifest(diecast, "amax IN=bf16 @ host\n"), "--time-limit", "1"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.errors,
                  "diecast: timed_out: compiling amax.cu for host took longer than 1 s and was "
                  "ended\n"))
      << run.errors;
  expect_ended(compiler.started, 2);
  EXPECT_EQ(tree(compiler.temporary), std::vector<std::string>{});  // nor a file of them
  EXPECT_EQ(diecast({"cache", "verify"}).output, "0 good, 0 damaged\n");
}

// N-07: a warm that is killed takes its host compiler and the compiler's files with it.
TEST(ToolWarm, LeavesNoHostCompilerWhenItIsKilled) {
  ToolRun diecast;
  const SlowCompiler compiler(diecast);
  ProcessRequest request;
  request.arguments = {DIECAST_TOOL, "warm", manifest(diecast, "amax IN=bf16 @ host\n")};
  request.environment = diecast.environment();
  request.time_limit = std::chrono::seconds(3);
  EXPECT_EQ(run_process(request).error().code, ErrorCode::timed_out);
  expect_ended(compiler.started, 2);
  for (int i = 0; i < 200 && !tree(compiler.temporary).empty(); ++i) ::usleep(10000);
  EXPECT_EQ(tree(compiler.temporary), std::vector<std::string>{});
}

// N-05: a compiler that dies takes nobody with it.
TEST(ToolWarm, ReportsACompilerThatDies) {
  ToolRun diecast;
  diecast.set("DIECAST_FAKE_NVRTC_CRASH", "1");
  const auto run = diecast({"warm", manifest(diecast)});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.errors,
                  "diecast: process_failed: the compiler of amax.cu for sm_90a ended by signal 11\n"
                  "  fix: `diecast compile` compiles it without limits and says more; more memory "
                  "may help (--memory-limit)\n"))
      << run.errors;
  EXPECT_TRUE(has(run.output, "3 wanted: 0 compiled, 0 found, 3 failed")) << run.output;
  EXPECT_EQ(diecast({"cache", "verify"}).output, "0 good, 0 damaged\n");
}

// N-06: what explodes is ended at the limit, reported and never cached.
TEST(ToolWarm, EndsACompileThatTakesTooMuchMemory) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer takes terabytes of address space, so that it cannot be limited";
#endif
  ToolRun diecast;
  const std::string one = manifest(diecast, "amax IN=bf16 @ sm_90a\n");
  diecast.set("DIECAST_FAKE_NVRTC_ALLOCATE", std::to_string(1u << 30));
  const auto run = diecast({"warm", one, "--memory-limit", "512M"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.errors, "diecast: process_failed: the compiler of amax.cu for sm_90a ended "))
      << run.errors;
  EXPECT_EQ(diecast({"cache", "verify"}).output, "0 good, 0 damaged\n");
  diecast.set("DIECAST_FAKE_NVRTC_ALLOCATE", std::to_string(64u << 20));
  EXPECT_EQ(diecast({"warm", one, "--memory-limit", "512M"}).exit_code, 0);
}

TEST(ToolWarm, AnIsolatedCompilesErrorIsTheCompilers) {
  ToolRun diecast;
  diecast.set("DIECAST_FAKE_NVRTC_FAIL", "nvrtcCompileProgram=6");
  diecast.set("DIECAST_FAKE_NVRTC_LOG", "amax.cu(3): error: expected a ;");
  const auto isolated = diecast({"warm", manifest(diecast, "amax IN=bf16 @ sm_90a\n")});
  const auto here = diecast({"warm", manifest(diecast, "amax IN=bf16 @ sm_90a\n"), "--in-process"});
  EXPECT_TRUE(has(isolated.errors, "diecast: compile_failed: ")) << isolated.errors;
  EXPECT_EQ(isolated.errors, here.errors);
}

}  // namespace
}  // namespace diecast
