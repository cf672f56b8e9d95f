// Tuning records: one line of text each, believed only when its checksum and its template allow it.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/record.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/tuning_samples.h"

namespace diecast {
namespace {

using Outcome = TuningRecord::Outcome;
using testing::kTunedText;
using testing::record;

std::shared_ptr<const Template> tmpl() { return Template::parse("k", kTunedText).value(); }

// The line with its checksum made right again.
std::string resealed(const std::string& before) {
  return cat(before, " | ", hex16(xxh3_128(as_bytes(before)).low));
}

std::string what_of(const std::string& line) {
  const auto parsed = parse_tuning_record(line);
  return parsed ? "" : parsed.error().what;
}

TEST(TuningRecord, IsALineThatSaysTheSameAgain) {
  TuningRecord timed = record("THREADS=64 waves=4", 5120);
  timed.spread = 7;
  EXPECT_EQ(timed.line(),
            "1 | k COLS=0 IN=bf16 @ sm_90a | Fake_GPU/90/132 | rows=512 cols=4096 | THREADS=64 "
            "waves=4 | ns=5120 spread=7 samples=15 | 0e15da8e4cbf1ede");
  EXPECT_EQ(parse_tuning_record(timed.line()).value(), timed);
  for (const Outcome outcome :
       {Outcome::differs, Outcome::illegal, Outcome::failed, Outcome::crashed, Outcome::hung}) {
    TuningRecord other = record("THREADS=64 waves=4", 0);
    other.outcome = outcome;
    other.samples = 0;
    EXPECT_EQ(parse_tuning_record(other.line()).value(), other);
  }
  TuningRecord bare = timed;  // a kernel without sizes or tunes
  bare.sizes.clear();
  bare.tunes.clear();
  EXPECT_EQ(parse_tuning_record(bare.line()).value(), bare);
  TuningRecord unsteady = timed;  // quartiles further apart than a line has room for
  unsteady.spread = 1000001;
  EXPECT_EQ(parse_tuning_record(unsteady.line()).value().spread, 1000000);
}

// T-01
TEST(TuningRecord, IsRefusedForEveryByteChangedOrMissing) {
  const std::string line = record("THREADS=64 waves=4", 5120).line();
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = line;
      other[at] = static_cast<char>(other[at] ^ 1 << bit);
      EXPECT_FALSE(parse_tuning_record(other).ok()) << other;
    }
    EXPECT_FALSE(parse_tuning_record(line.substr(0, at)).ok()) << at;
    EXPECT_FALSE(parse_tuning_record(line.substr(0, at) + line.substr(at + 1)).ok()) << at;
  }
}

// T-01
TEST(TuningRecord, ThatLiesUnderAGoodChecksumIsNamed) {
  const std::string key = "1 | k COLS=0 @ sm_90a | GPU/90/132 | rows=1 | THREADS=64 | ";
  EXPECT_EQ(what_of(resealed(key + "ns=1 spread=0 samples=1")), "");
  for (const char* times :
       {"ns=0 spread=0 samples=1", "ns=-5 spread=0 samples=1", "ns=nan spread=0 samples=1",
        "ns=1e3 spread=0 samples=1", "ns=1 spread=-1 samples=1", "ns=1 spread=0 samples=0",
        "ns=01 spread=0 samples=1", "ns=+1 spread=0 samples=1", "ns=1 samples=1 spread=0",
        "ns=99999999999999 spread=0 samples=1", "ns=1 spread=0", "1 0 1", "timed", "quick", ""}) {
    EXPECT_EQ(what_of(resealed(key + times)),
              cat("the outcome of a tuning record is \"", times, "\""));
  }
  EXPECT_EQ(what_of(resealed("2 | k @ host | d | - | - | hung")),
            "the version of a tuning record is \"2\"");
  EXPECT_EQ(what_of(resealed("1 |  | d | - | - | hung")), "the kernel of a tuning record is \"\"");
  EXPECT_EQ(what_of(resealed("1 | k @ host | azAZ09._-/+ | - | - | hung")), "");
  EXPECT_EQ(what_of(resealed("1 | k @ host | a b | - | - | hung")),
            "the device of a tuning record is \"a b\"");
  EXPECT_EQ(what_of(resealed("1 | k @ host | d | rows=-1 | - | hung")),
            "the list of sizes of a tuning record is \"rows=-1\"");
  EXPECT_EQ(what_of(resealed("1 | k @ host | d | - | - | hung | more")),
            "the number of fields of a tuning record is \"8\"");
  EXPECT_EQ(what_of("1 | k @ host | d | - | - | hung | 0"),
            "the checksum of a tuning record is \"0\"");
  EXPECT_EQ(what_of(std::string(5000, 'x')), "the length of a tuning record is \"5000\"");
  EXPECT_EQ(what_of(""), "the version of a tuning record is \"\"");
}

// T-01: a record selects nothing that its template does not declare.
TEST(TuningRecord, IsHeldAgainstItsTemplatesTuneSpace) {
  const auto checked = [](std::string_view kernel, std::string_view tunes, RunSizes sizes) {
    TuningRecord one = record(std::string(tunes), 1000);
    one.kernel = kernel;
    one.sizes = std::move(sizes);
    const auto made = check_tuning_record(one, tmpl());
    return made ? made->spelling() : made.error().what;
  };
  const RunSizes both = {{"rows", 1}, {"cols", 16}};
  EXPECT_EQ(checked("k COLS=0 IN=bf16 @ sm_90a", "THREADS=128 waves=1", both),
            "k COLS=0 IN=bf16 THREADS=128 @ sm_90a");
  EXPECT_EQ(checked("k COLS=32 IN=bf16 @ sm_90a", "THREADS=128 waves=1", {{"rows", 1}}),
            "k COLS=32 IN=bf16 THREADS=128 @ sm_90a");
  EXPECT_EQ(checked("k COLS=0 IN=bf16 @ sm_90a", "THREADS=96 waves=1", both),
            "THREADS cannot be \"96\"");
  EXPECT_EQ(checked("k COLS=0 IN=bf16 @ sm_90a", "THREADS=128 wave=1", both),
            "k has no parameter \"wave\"; did you mean `waves`?");
  EXPECT_EQ(checked("k COLS=0 IN=bf16 @ sm_90a", "THREADS=128", both),
            "the list of tunes of a tuning record is \"THREADS=128\"");
  EXPECT_EQ(checked("k COLS=0 IN=bf16 @ sm_90a", "waves=1 THREADS=128", both),
            "the list of tunes of a tuning record is \"waves=1 THREADS=128\"");
  EXPECT_EQ(
      checked("k COLS=0 IN=bf16 @ sm_90a", "THREADS=256 waves=1", both),
      "k.cu:12: require THREADS < 256 || IN != bf16 (bf16 needs few)\nTHREADS = 256\nIN = bf16");
  EXPECT_EQ(checked("k IN=bf16 @ sm_90a", "THREADS=128 waves=1", both),
            "the kernel of a tuning record is \"k IN=bf16 @ sm_90a\"");
  EXPECT_EQ(checked("k COLS=0 IN=bf16 THREADS=64 @ sm_90a", "THREADS=128 waves=1", both),
            "the kernel of a tuning record is \"k COLS=0 IN=bf16 THREADS=64 @ sm_90a\"");
  EXPECT_EQ(checked("j COLS=0 IN=bf16 @ sm_90a", "THREADS=128 waves=1", both),
            "the kernel of a tuning record is \"j COLS=0 IN=bf16 @ sm_90a\"");
  EXPECT_EQ(checked("k COLS=0 IN=bf16 @ sm_90a", "THREADS=128 waves=1", {{"rows", 1}}),
            "the list of sizes of a tuning record is \"rows=1\"");
}

// T-02
TEST(TuningFile, LeavesOutWhatIsNoRecordAndNamesIt) {
  const std::string good = record("THREADS=64 waves=4", 5120).line();
  const TuningFile file =
      parse_tuning_file(cat("# measured by hand\n\n", good, "\n", good.substr(0, 60), "\n", good));
  EXPECT_EQ(file.records.size(), 2u);
  EXPECT_EQ(file.wrong,
            (std::vector<std::string>{"line 4: the number of fields of a tuning record is \"4\""}));
  EXPECT_EQ(parse_tuning_file(std::string(100, '\n') + std::string(1000, 'x') +
                              "\n1\n1\n1\n1\n1\n1\n"
                              "1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n")
                .wrong.size(),
            16u);
}

// T-02: whoever merges what, in whatever order, has the same records.
TEST(TuningFile, MergesToTheSameRecordsInAnyOrder) {
  std::vector<TuningRecord> all = {
      record("THREADS=64 waves=1", 10), record("THREADS=64 waves=4", 20),
      record("THREADS=64 waves=1", 12), record("THREADS=128 waves=1", 5)};
  all[2].samples = 31;
  all.push_back(record("THREADS=128 waves=1", 0));
  all.back().outcome = Outcome::differs;  // a configuration that ever differed never wins
  all.back().samples = 0;
  std::ranges::sort(all, {}, &TuningRecord::line);
  const auto merged = merge_tuning_records(all);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].outcome, Outcome::differs);
  EXPECT_EQ(merged[1].ns, 12);
  EXPECT_EQ(merge_tuning_records(merged), merged);
  do {
    ASSERT_EQ(merge_tuning_records(all), merged);
  } while (std::ranges::next_permutation(all, {}, &TuningRecord::line).found);
}

TEST(DeviceFingerprint, IsOneWordOfPlainCharacters) {
  DeviceProperties device;
  device.name = "NVIDIA H200 | \xc3\xa9\n";
  device.cc = 90;
  device.sm_count = 132;
  EXPECT_EQ(device_fingerprint(device), "NVIDIA_H200______/90/132");
  device.name = "";
  EXPECT_EQ(device_fingerprint(device), "device/90/132");
}

}  // namespace
}  // namespace diecast
