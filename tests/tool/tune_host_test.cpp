// diecast tune: each configuration in a process of its own, records that outlive a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::host_works;
using testing::text_of;
using testing::ToolRun;

constexpr const char* kHangs = R"(/* diecast
tune int THREADS {32, 64, 128, 256} = 32
size count
arg y out f32 [count]
arg count
launch grid(1) block(THREADS)
target host
exchange none
*/
DIECAST_KERNEL {
  volatile i64 spin = THREADS == 64;
  while (spin != 0) {}
  if (THREADS == 128) *reinterpret_cast<volatile int*>(8) = 1;
  if (threadIdx.x == 0) {
    for (i64 i = 0; i < count; ++i) y[i] = THREADS == 256 && i == 3 ? 2.0f : 1.0f;
  }
}
)";

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// T-03, G-18: what crashes, hangs or differs costs its own process and is never chosen.
TEST(ToolTune, OutlivesConfigurationsThatHangCrashAndDiffer) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer ends what crashes in its own way";
#endif
  testing::write_text(diecast.folder / "k.cu", kHangs);
  const std::string out = diecast.folder / "tuned.txt";
  const auto run =
      diecast({"tune", "k", "--target", "host", "--add", diecast.folder / "k.cu", "--size",
               "count=8", "--samples", "3", "--time-limit", "4", "--out", out});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(
      run.errors.find("diecast: results_differ: 1 of 4 configurations differ from the default "
                      "one: k @ host"),
      std::string::npos)
      << run.errors;
  EXPECT_NE(run.output.find(": THREADS=32; count=8:\n"), std::string::npos) << run.output;
  for (const char* why :
       {"(THREADS=64; count=8): hung: did not end within 4000 ms\n",
        "(THREADS=128; count=8): crashed: its process ended by signal 11",
        "(THREADS=256; count=8): differs: other bytes of y than the default configuration's\n"})
    EXPECT_NE(run.output.find(why), std::string::npos) << why << run.output;
  const std::string text = text_of(out);
  EXPECT_EQ(lines_of(text), 4u);
  for (const char* word : {"| THREADS=32 | ns=", "| THREADS=64 | hung |",
                           "| THREADS=128 | crashed |", "| THREADS=256 | differs |"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

// What a template did wrong once, a file says until it is asked to forget it.
// Elements of sixteen bits are far enough apart that their sum depends on its order.
TEST(ToolTune, SumsInAnotherOrderDiffer) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  testing::write_text(diecast.folder / "sums.cu", R"(/* diecast
option type IN {bf16, f16}
tune int PARTS {1, 64} = 1
size count
arg x in IN [count]
arg sum out f32 [1]
arg count
launch grid(1) block(1)
target host
exchange none
*/
#include <diecast/device/numbers/convert.h>
DIECAST_KERNEL {
  f32 total = 0;
  for (i64 first = 0; first < PARTS; ++first) {
    f32 part = 0;
    for (i64 i = first; i < count; i += PARTS) part += to_f32(x[i]);
    total += part;
  }
  sum[0] = total;
}
)");
  for (const char* in : {"bf16", "f16"}) {
    const auto run =
        diecast({"tune", std::string("sums IN=") + in, "--target", "host", "--add",
                 diecast.folder / "sums.cu", "--size", "count=4096", "--samples", "1"});
    EXPECT_EQ(run.exit_code, 1) << in;
    EXPECT_NE(run.errors.find("results_differ: 1 of 2 configurations"), std::string::npos)
        << run.errors;
  }
}

TEST(ToolTune, LaunchesWithTheScalarsOfTheCommandLine) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  // Any other value than those given below is a fault.
  testing::write_text(diecast.folder / "scalars.cu", R"(/* diecast
tune int THREADS {32, 64} = 32
size count
arg eps f32
arg first i64
arg mask u32
arg one f32
arg y out f32 [count]
arg count
launch grid(1) block(THREADS)
target host
exchange none
*/
DIECAST_KERNEL {
  if (eps != -1e-5f || first != -9007199254740993 || mask != 4294967295u || one != 1.0f)
    *reinterpret_cast<volatile int*>(8) = 1;
  if (threadIdx.x == 0) y[0] = eps;
}
)");
  std::vector<std::string> tune = {
      "tune",     "scalars",        "--target",  "host", "--add",    diecast.folder / "scalars.cu",
      "--size",   "count=8",        "--samples", "1",    "--scalar", "eps=-1e-5",
      "--scalar", "mask=4294967295"};
  auto run = diecast(tune);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("does not tell what to give for first\n"
                            "  fix: give a value: --scalar first=1"),
            std::string::npos)
      << run.errors;
  tune.insert(tune.end(), {"--scalar", "first=-9007199254740993"});
  run = diecast(tune);
  EXPECT_EQ(run.exit_code, 0) << run.errors << run.output;

  for (const auto& [scalar, told] : std::vector<std::pair<std::string, std::string>>{
           {"frst=1",
            "unknown_parameter: --scalar: no scalar is named \"frst\"; did you mean `first`?"},
           {"first", "invalid_argument: \"first\" is no scalar"},
           {"count=8", "no scalar is named \"count\""},
           {"first=1", "scalars: first is given twice"},
           {"one=1e99", "--scalar one=1e99: \"1e99\" is no f32"},
           {"one=1x", "is no f32"}}) {
    std::vector<std::string> wrong = tune;
    wrong.insert(wrong.end(), {"--scalar", scalar});
    run = diecast(wrong);
    EXPECT_EQ(run.exit_code, 1) << scalar;
    EXPECT_NE(run.errors.find(told), std::string::npos) << run.errors;
  }
}

TEST(ToolTune, MeasuresAgainWhatHasNoTimeWhenAsked) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  std::string text = kHangs;
  const auto turn = [&](const char* from, const char* to) {
    text.replace(text.find(from), std::strlen(from), to);
    testing::write_text(diecast.folder / "k.cu", text);
  };
  turn("THREADS == 64", "0");
  turn("THREADS == 128", "false");
  const std::string out = diecast.folder / "tuned.txt";
  std::vector<std::string> tune = {"tune",     "k",    "--add",     diecast.folder / "k.cu",
                                   "--out",    out,    "--size",    "count=8",
                                   "--target", "host", "--samples", "3"};
  EXPECT_EQ(diecast(tune).exit_code, 1);
  turn("THREADS == 256", "false");
  const auto known = diecast(tune);
  EXPECT_EQ(known.exit_code, 1);
  EXPECT_NE(known.output.find("(THREADS=256; count=8): differs: as an earlier run found\n"
                              "what a file of --out has is not measured again, but with --retry\n"),
            std::string::npos)
      << known.output;
  tune.push_back("--retry");
  const auto again = diecast(tune);
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_EQ(again.output.find("not timed"), std::string::npos) << again.output;
  const std::string lines = text_of(out);
  EXPECT_EQ(lines_of(lines), 5u) << lines;
  EXPECT_NE(lines.find("\n# | k @ host"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("| differs |"), lines.rfind("| differs |"));
  tune.pop_back();
  EXPECT_EQ(diecast(tune).exit_code, 0);
  EXPECT_EQ(text_of(out), lines);
}

TEST(ToolTune, FailsWhereNoConfigurationRuns) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer ends what crashes in its own way";
#endif
  std::string crashes = kHangs;
  crashes.replace(crashes.find("{32, 64, 128, 256} = 32"), 23, "{128} = 128");
  const std::string own = diecast.folder / "k.cu";
  testing::write_text(own, crashes);
  const auto run = diecast({"tune", "k", "--target", "host", "--add", own, "--samples", "3"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.output.find("crashed"), std::string::npos) << run.output << run.errors;
  EXPECT_EQ(
      run.errors.find("diecast: process_failed: no configuration of a kernel has a time: k @ "),
      run.errors.find("diecast: "))
      << run.errors;
  EXPECT_NE(run.errors.find("crashed: its process ended by signal 11"), std::string::npos);
}

TEST(ToolTune, TakesTheDefaultOfATuneThatHasNoSet) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  std::string text = kHangs;
  text.replace(text.find("{32, 64, 128, 256}"), 18, "");
  const std::string own = diecast.folder / "k.cu";
  testing::write_text(own, text);
  const auto run = diecast({"tune", "k", "--target", "host", "--add", own, "--samples", "1"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.output.find("chosen for k @ host"), std::string::npos) << run.output;
}

TEST(ToolTune, SaysWhyTheDefaultItselfDoesNotRun) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const auto run = diecast({"tune", "describe_group", "--target", "host"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("the header does not tell what to give for "), std::string::npos)
      << run.errors;
}

// A template without parameters, whose threads wait where the header says that none does.
TEST(ToolTune, SaysWhatATemplateWithoutTunesDoesWrong) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const std::string own = diecast.folder / "waits.cu";
  testing::write_text(own,
                      "/* diecast\nlaunch grid(1) block(64)\nexchange none\n*/\n"
                      "DIECAST_KERNEL { __syncthreads(); }\n");
  const auto run = diecast({"tune", "waits", "--add", own, "--target", "host", "--samples", "3"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.errors.find("diecast: divergent_barrier: measuring waits @ host"), 0u)
      << run.errors;
  const std::string fix = "\n  fix: say `exchange block` in the header of waits.cu";
  EXPECT_NE(run.errors.find(fix), std::string::npos) << run.errors;
  EXPECT_EQ(run.errors.find("diecast: ", 1), std::string::npos) << run.errors;  // once
  EXPECT_EQ(run.errors.find("fix: "), run.errors.rfind("fix: ")) << run.errors;
}

TEST(ToolTune, LeavesOutWhatAPlainLaunchDoesNotHave) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const std::string out = diecast.folder / "tuned.txt";
  const auto run =
      diecast({"tune", "quantize_nvfp4_tiles IN=bf16 THREADS=32", "--target", "host", "--size",
               "rows=8", "--size", "cols=64", "--samples", "3", "--in-process", "--out", out});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  const std::string text = text_of(out);
  EXPECT_EQ(lines_of(text), 3u) << text;  // of waves
  EXPECT_NE(text.find("| rows=8 cols=64 count=0 pitch_t=0 |"), std::string::npos) << text;
  EXPECT_EQ(text.find("differs"), std::string::npos) << text;
}

// T-02
TEST(ToolTune, MeasuresWhatIsNotKnownYetAndMerges) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const std::string out = diecast.folder / "tuned.txt";
  const std::vector<std::string> tune = {
      "tune",    "amax IN=f32", "--target", "host",         "--size", "rows=2", "--size",
      "cols=32", "--samples",   "3",        "--in-process", "--out",  out};
  ASSERT_EQ(diecast(tune).exit_code, 0);
  const std::string first = text_of(out);
  EXPECT_EQ(lines_of(first), 8u);  // 2 of THREADS, 4 of waves
  ASSERT_EQ(diecast(tune).exit_code, 0);
  EXPECT_EQ(text_of(out), first);
  testing::write_text(out, first.substr(0, first.size() - 9));  // killed while it wrote
  ASSERT_EQ(diecast(tune).exit_code, 0);
  EXPECT_EQ(lines_of(text_of(out)), 9u);  // the line cut short, and the measurement again
  const std::string merged = diecast.folder / "merged.txt";
  const auto merging = diecast({"tune", "--merge", out, "--merge", out, "--out", merged});
  EXPECT_EQ(merging.exit_code, 0);
  EXPECT_NE(merging.output.find("8 records in "), std::string::npos) << merging.output;
  EXPECT_NE(merging.output.find("left out: "), std::string::npos) << merging.output;
  EXPECT_EQ(lines_of(text_of(merged)), 8u);

  diecast.set("DIECAST_TUNING", merged);
  EXPECT_EQ(diecast({"cache", "path"}).exit_code, 0);
}

}  // namespace
}  // namespace diecast
