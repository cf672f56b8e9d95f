// diecast tune on a machine whose GPU and compiler are fakes, and a warming that reads its records.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/record.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::text_of;
using testing::ToolRun;

TEST(ToolTuneCuda, MeasuresEachConfigurationInAProcessOfItsOwn) {
  ToolRun diecast;
  diecast.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
  diecast.set("DIECAST_FAKE_CUDA_CC", "90");
  const std::string out = diecast.folder / "tuned.txt";
  const auto run = diecast({"tune", "amax IN=bf16", "--target", "cuda", "--size", "rows=8",
                            "--size", "cols=64", "--samples", "3", "--json", "--out", out});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const auto records = nlohmann::json::parse(run.output);
  ASSERT_EQ(records.size(), 8u);  // 2 of THREADS, 4 of waves
  for (const auto& record : records) {
    EXPECT_EQ(record.at("outcome"), "timed");
    EXPECT_EQ(record.at("device"), "Fake_GPU/90/132");
    EXPECT_EQ(record.at("samples"), 3);
  }
  EXPECT_EQ(parse_tuning_file(text_of(out)).records.size(), 8u);
}

TEST(ToolTuneCuda, WantsSizesThatTheKernelHas) {
  ToolRun diecast;
  diecast.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
  const auto misspelt = diecast({"tune", "amax IN=bf16", "--size", "row=16"});
  EXPECT_EQ(misspelt.exit_code, 1);
  EXPECT_EQ(misspelt.errors,
            "diecast: unknown_parameter: --size: no size is named \"row\"; did you mean `rows`?\n"
            "  fix: the sizes are rows, cols\n");
}

TEST(ToolTuneCuda, HelpTellsWhenItFails) {
  ToolRun diecast;
  const auto help = diecast({"tune", "--help"});
  EXPECT_NE(help.output.find("other bytes than the default one (differs)"), std::string::npos);
}

// What --out would add to, and --merge would replace.
TEST(ToolTuneCuda, LeavesAFileOfSomethingElseAsItIs) {
  ToolRun diecast;
  diecast.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
  const std::string notes = diecast.folder / "notes.txt", tuned = diecast.folder / "tuned.txt";
  testing::write_text(notes, "hello\nworld");
  testing::write_text(tuned, "\xEF\xBB\xBF# none yet\n");
  const std::string refusal =
      cat("diecast: parse_error: \"", notes,
          "\" is no file of tuning records: line 1: the version of a tuning record is \"hello\"\n"
          "  fix: give the path of a new file, or of one that `diecast tune` has written\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"tune", "amax IN=bf16", "--out", notes},
        {"tune", "--merge", tuned, "--out", notes},
        {"tune", "--merge", notes, "--out", tuned}}) {
    const auto run = diecast(words);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.errors, refusal);
    EXPECT_EQ(text_of(notes), "hello\nworld");
    EXPECT_EQ(text_of(tuned), "\xEF\xBB\xBF# none yet\n");
  }
  EXPECT_EQ(diecast({"tune", "--merge", tuned, "--out", tuned}).exit_code, 0);
}

// Of a tune that is named only these values are measured, and chosen from.
TEST(ToolTuneCuda, TakesListsOfATune) {
  ToolRun diecast;
  diecast.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
  diecast.set("DIECAST_FAKE_CUDA_CC", "90");
  const std::string out = diecast.folder / "tuned.txt";
  const auto tune = [&](const std::vector<std::string>& spellings) {
    std::vector<std::string> words = {"tune",      "--size", "rows=8",       "--size", "cols=64",
                                      "--samples", "3",      "--in-process", "--out",  out};
    words.insert(words.begin() + 1, spellings.begin(), spellings.end());
    return diecast(words);
  };
  const auto run = tune({"amax IN=bf16 THREADS=* waves=1,8", "amax IN=bf16 waves=8"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(parse_tuning_file(text_of(out)).records.size(), 4u);
  EXPECT_EQ(run.output.find("chosen for "), run.output.rfind("chosen for ")) << run.output;
  EXPECT_NE(run.output.find(" @ sm_90a: THREADS="), std::string::npos) << run.output;
  EXPECT_EQ(tune({"amax IN=bf16"}).exit_code, 0);
  const auto held = tune({"amax IN=bf16 THREADS=128 waves=2"});
  EXPECT_EQ(held.output.find("THREADS=256"), std::string::npos) << held.output;
  EXPECT_NE(held.output.find(": THREADS=128; rows=8 cols=64: waves=2\n"), std::string::npos)
      << held.output;
}

// A row of 32768 has 2048 blocks of 16: one thread block, the default, has too few for it.
TEST(ToolTuneCuda, MeasuresWhatFitsWhereTheDefaultDoesNot) {
  ToolRun diecast;
  diecast.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
  diecast.set("DIECAST_FAKE_CUDA_CC", "90");
  const auto tune = [&](const std::string& spelling) {
    return diecast({"tune", spelling, "--size", "rows=8", "--samples", "3", "--in-process"});
  };
  const std::string few = "quantize_nvfp4_row_scaled_few IN=bf16 NEXT=codes ";
  const auto all = tune(few + "COLS=32768");
  ASSERT_EQ(all.exit_code, 0) << all.errors;
  for (const char* const tunes : {"BLOCKS=1 CLUSTER=2", "BLOCKS=1 CLUSTER=4", "BLOCKS=2 CLUSTER=1"})
    EXPECT_NE(all.output.find(cat(tunes, " ROWS_AT_ONCE=1 NEXT=codes")), std::string::npos)
        << tunes;
  EXPECT_EQ(all.output.find("BLOCKS=1 CLUSTER=1"), std::string::npos) << all.output;
  EXPECT_EQ(all.output.find("chosen for "), all.output.rfind("chosen for ")) << all.output;
  const auto both = tune(few + "COLS=512,32768");  // the default fits one
  for (const char* const cols : {"COLS=512 ", "COLS=32768 "})
    EXPECT_NE(both.output.find(cat("row_scaled_few ", cols)), std::string::npos) << both.output;
  const auto none = tune(few + "COLS=65536 CLUSTER=1");
  EXPECT_NE(none.exit_code, 0);
  EXPECT_NE(none.errors.find("a row has threads enough"), std::string::npos) << none.errors;
}

TEST(ToolTuneCuda, RefusesSizesThatTheSpellingFixes) {
  ToolRun diecast;
  diecast.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
  diecast.set("DIECAST_FAKE_CUDA_CC", "90");
  const auto run = diecast({"tune", "amax IN=bf16 COLS=64", "--size", "cols=64,32"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.errors,
            "diecast: invalid_argument: --size cols=32: amax COLS=64 ROWS=dense IN=bf16 PER=tensor "
            "BLOCK=16 NANS=ignore RHT=none SIGN_MASK=0 @ sm_90a has only cols=64\n"
            "  fix: leave out --size cols, or what fixes it in the spelling\n");
}

TEST(ToolTuneCuda, WarmingBuildsWhatRecordsChooseToo) {
  ToolRun diecast;
  TuningRecord record;
  record.kernel =
      "amax COLS=0 ROWS=dense IN=bf16 PER=tensor BLOCK=16 NANS=ignore RHT=none SIGN_MASK=0 @ "
      "sm_90a";
  record.device = "NVIDIA_H200/90/132";
  record.sizes = {{"rows", 8}, {"cols", 64}};
  record.tunes = "THREADS=128 waves=1";
  record.ns = record.samples = 10;
  testing::write_text(diecast.folder / "tuned.txt", record.line() + "\n");
  testing::write_text(diecast.folder / "m.txt", "amax IN=bf16,f16 @ sm_90a\n");
  const auto warmed = [&] {
    const auto run = diecast({"warm", diecast.folder / "m.txt", "--in-process"});
    return run.output.substr(run.output.rfind('\n', run.output.size() - 2) + 1, 9);
  };
  EXPECT_EQ(warmed(), "2 wanted:");
  diecast.set("DIECAST_TUNING", diecast.folder / "tuned.txt");
  EXPECT_EQ(warmed(), "3 wanted:");
}

TEST(ToolTuneCuda, SaysWhichTuningIsNotUsed) {
  ToolRun diecast;
  const std::string manifest = diecast.folder / "m.txt", none = diecast.folder / "none.txt";
  testing::write_text(manifest, "amax IN=bf16 @ sm_90a\n");
  diecast.set("DIECAST_TUNING", manifest + "," + none);
  const auto run = diecast({"compile", "amax IN=bf16 @ sm_90a"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.errors,
            cat("diecast: tuning: ", manifest,
                ": line 1: the version of a tuning record is \"amax IN=bf16 @ sm_90a\"\n"
                "  fix: leave it out, or measure again (`diecast tune`)\n"
                "diecast: tuning: cannot open \"",
                none, "\": No such file or directory (errno 2)\n  fix: check the spelling of \"",
                none, "\" and that its directory exists\n"));
}

}  // namespace
}  // namespace diecast
