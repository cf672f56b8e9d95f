// What diecast-bench says to its words: figures of the parts that were asked for, its help, and
// errors of wrong words. And the process that it starts to measure a warmed start.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/run_bench.h"

namespace diecast {
namespace {

using nlohmann::json;
using testing::BenchRun;

TEST(Bench, MeasuresWhatItIsAskedFor) {
  BenchRun bench;
  const auto run = bench({"cache", "--json"});
  const auto figures = json::parse(run.output);
  ASSERT_FALSE(figures.empty()) << run.errors;
  bool all_hold = true;
  for (const auto& figure : figures) {
    EXPECT_EQ(figure.at("part"), "cache");
    EXPECT_GT(figure.at("value"), 0.0) << figure;
    all_hold = all_hold && figure.at("holds");
  }
  EXPECT_EQ(run.exit_code, all_hold ? 0 : 1);
  const auto refused = bench({"gpu"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.errors.find("diecast: driver_unavailable: "), std::string::npos);
}

// Notes of which some begin with a number are words: each begins where its heading does.
TEST(Bench, PrintsItsNotesBelowTheirHeading) {
  BenchRun bench;
  const std::string output = bench({"cache"}).output;
  const auto lines = split(trim(output), '\n');
  ASSERT_GT(lines.size(), 2u) << output;
  const std::size_t column = lines[0].find("against");
  ASSERT_NE(column, std::string::npos) << output;
  for (const std::string_view line : lines) {
    if (line.size() <= column) continue;
    EXPECT_EQ(line.substr(column - 2, 2), "  ") << output;
    EXPECT_NE(line[column], ' ') << output;
  }
}

// On a GPU it loads, and says what the driver alone takes for that.
TEST(Bench, AWarmedStartTellsWhichOfItsTimeIsTheDrivers) {
  testing::ToolRun diecast;
  const std::string line = "amax IN=bf16 COLS=16,32 @ sm_90a";
  const std::string other = "amax IN=bf16 COLS=48 @ sm_90a", manifest = diecast.folder / "m.txt";
  testing::write_text(manifest, line + "\n" + other + "\n");
  ASSERT_EQ(diecast({"warm", manifest, "--in-process"}).exit_code, 0);
  BenchRun bench;
  bench.set("DIECAST_CACHE", diecast.cache_path());
  bench.set("DIECAST_NVRTC", diecast.nvrtc.path());
  bench.set("DIECAST_CACHE_POLICY", "require-hit");
  bench.use_fake_gpu();
  const auto numbers = [&](std::vector<std::string> words) {
    const auto run = bench(std::move(words));
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    std::vector<double> out;
    std::istringstream text(run.output);
    for (double number = 0; text >> number;) out.push_back(number);
    return out;
  };
  const auto ready = numbers({"start", line});
  ASSERT_EQ(ready.size(), 3u);
  EXPECT_GT(ready[0], 0);
  EXPECT_GT(ready[1], 0);
  EXPECT_GT(ready[2], 0);
  for (const std::vector<std::string>& order : {std::vector<std::string>{}, {"--bare-first"}}) {
    std::vector<std::string> words = {"start", line, "--bare", other};
    words.insert(words.end(), order.begin(), order.end());
    const auto beside = numbers(std::move(words));
    ASSERT_EQ(beside.size(), 2u);
    EXPECT_GT(beside[0], 0);
    EXPECT_GT(beside[1], 0);
  }
  bench.set("DIECAST_FAKE_CUDA_FAIL", "cuLibraryLoadData=2");
  EXPECT_EQ(bench({"start", line, "--bare", other}).exit_code, 1);
}

TEST(Bench, WrongWordsAreErrorsWithAFix) {
  BenchRun bench;
  const std::string takes = "\n  fix: `diecast-bench --help` shows what it takes\n";
  const std::string leave = "\n  fix: leave it out, or name a part that takes it: ";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"cpu"},
       "part: cpu not in "
       "{compile,cache,warm,host,checkpoint,gpu,small,inputs,specialization,functions,gemm,linear,"
       "launch,weights,options,python}" +
           takes},
      {{"gpu", "--shap", "16x64"},
       "`diecast-bench` has no option \"--shap\"; did you mean `--shape`?" + takes},
      {{"gpu", "--plot", ""},
       "`diecast-bench`: --plot was given an empty value\n"
       "  fix: give a value, or leave --plot out (a variable of a script may be empty)\n"},
      {{"host", "--shape", "16x64"},
       "--shape changes nothing of host" + leave + "gpu, small, inputs, specialization, linear\n"},
      {{"gpu", "--on", "host"}, "--on changes nothing of gpu" + leave + "options\n"},
      {{"--template", "amax"},
       "--template changes nothing of what is measured" + leave + "options\n"},
      {{"gpu", "selftest"},
       "selftest excludes part\n  fix: `diecast-bench selftest --help` shows what it takes\n"},
      {{"selftest"},
       "selftest was not told what to test\n  fix: `diecast-bench selftest --device` tests the "
       "GPU's driver; tests/run.sh runs the tests\n"},
      {{"selftest", "gpu"},
       "`diecast-bench selftest` does not take \"gpu\"\n"
       "  fix: `diecast-bench selftest --help` shows what it takes\n"}};
  for (const auto& [words, message] : cases) {
    const auto run = bench(words);
    EXPECT_EQ(run.exit_code, 2) << message;
    EXPECT_EQ(run.errors, "diecast: invalid_argument: " + message);
    EXPECT_EQ(run.output, "");
  }
}

TEST(Bench, HelpNamesItsPartsAndNothingThatItStartsItself) {
  BenchRun bench;
  const auto help = bench({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"Usage: diecast-bench ", "\nBegin with:\n", "specialization", "--shape",
                           "--plot", "selftest", "\nExit codes: 0 "})
    EXPECT_NE(help.output.find(word), std::string::npos) << word << "\n" << help.output;
  for (const char* word : {"compile-one", "bundle", "\n  start"})
    EXPECT_EQ(help.output.find(word), std::string::npos) << word << "\n" << help.output;
  for (const char* name : {"start", "compile-one", "bundle"})
    EXPECT_EQ(bench({name, "--help"}).exit_code, 0) << name;
}

}  // namespace
}  // namespace diecast
