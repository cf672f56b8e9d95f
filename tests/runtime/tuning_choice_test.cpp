// Choosing among records: the same whoever asks, the default where it is as good, by sizes.
#include <diecast/runtime/tuning/choice.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/tuning_samples.h"

namespace diecast {
namespace {

using testing::record;

std::string choice(const std::vector<TuningRecord>& records, const Bindings& given = {}) {
  const auto tmpl = Template::parse("k", testing::kTunedText).value();
  return choose_tunes(*tmpl, records, given).text(*tmpl);
}

TEST(TunedChoice, OfNothingIsNothing) {
  EXPECT_EQ(choice({}), "");
  TuningRecord hung = record("THREADS=128 waves=1", 1);
  hung.outcome = TuningRecord::Outcome::hung;
  EXPECT_EQ(choice({hung}), "");
}

TEST(TunedChoice, TakesTheQuickest) {
  EXPECT_EQ(choice({record("THREADS=64 waves=4", 100), record("THREADS=128 waves=1", 80),
                    record("THREADS=128 waves=16", 90)}),
            " THREADS=128; rows=512 cols=4096: waves=1");
}

TEST(TunedChoice, KeepsTheDefaultWhereItIsAsGood) {
  EXPECT_EQ(choice({record("THREADS=64 waves=4", 1000), record("THREADS=128 waves=4", 991)}),
            " THREADS=64; rows=512 cols=4096: waves=4");
  EXPECT_EQ(choice({record("THREADS=64 waves=4", 1000), record("THREADS=128 waves=4", 989)}),
            " THREADS=128; rows=512 cols=4096: waves=4");
  TuningRecord noisy = record("THREADS=64 waves=1", 950);
  EXPECT_EQ(choice({record("THREADS=64 waves=4", 1000), noisy}),
            " THREADS=64; rows=512 cols=4096: waves=1");
  noisy.spread = 60;  // 6 %: the difference may be noise
  EXPECT_EQ(choice({record("THREADS=64 waves=4", 1000), noisy}),
            " THREADS=64; rows=512 cols=4096: waves=4");
}

// What is quick at times is not quicker than what is nearly as quick always.
TEST(TunedChoice, TakesTheSteadyOne) {
  TuningRecord at_times = record("THREADS=128 waves=1", 950);
  at_times.spread = 90;
  EXPECT_EQ(
      choice({record("THREADS=64 waves=4", 1100), at_times, record("THREADS=128 waves=16", 980)}),
      " THREADS=128; rows=512 cols=4096: waves=16");
}

TEST(TunedChoice, IsOneCompiledConfigurationAndALaunchForEachSize) {
  const std::vector<TuningRecord> records = {
      record("THREADS=64 waves=4", 10, 1),      record("THREADS=64 waves=16", 11, 1),
      record("THREADS=128 waves=1", 12, 1),     record("THREADS=128 waves=4", 20, 1),
      record("THREADS=64 waves=4", 900, 8192),  record("THREADS=128 waves=1", 500, 8192),
      record("THREADS=128 waves=16", 300, 8192)};
  EXPECT_EQ(choice(records),
            " THREADS=128; rows=1 cols=4096: waves=1; rows=8192 cols=4096: waves=16");
}

// For who holds a kernel for each size.
TEST(TunedChoice, PointsAreTheFastestOfEachSize) {
  const auto tmpl = Template::parse("k", testing::kTunedText).value();
  const std::vector<TuningRecord> records = {
      record("THREADS=128 waves=1", 10, 1),    record("THREADS=64 waves=4", 20, 1),
      record("THREADS=128 waves=1", 90, 8192), record("THREADS=64 waves=16", 60, 8192),
      record("THREADS=64 waves=1", 1000, 64),  record("THREADS=128 waves=16", 1005, 64),
      record("THREADS=64 waves=4", 1009, 64)};  // the default, within 1 %
  const auto text = [&](const Bindings& given) {
    std::string out;
    for (const TunedPoint& point : tuned_points(*tmpl, records, given))
      out += run_sizes_text(point.sizes) + ": " + tunes_text(*tmpl, point.tunes) + " " +
             std::to_string(point.ns) + "; ";
    return out;
  };
  EXPECT_EQ(text({}),
            "rows=1 cols=4096: THREADS=128 waves=1 10; rows=64 cols=4096: THREADS=64 waves=4 1009; "
            "rows=8192 cols=4096: THREADS=64 waves=16 60; ");
  EXPECT_EQ(text(Bindings().set("THREADS", 128)),
            "rows=1 cols=4096: THREADS=128 waves=1 10; rows=64 cols=4096: THREADS=128 waves=16 "
            "1005; rows=8192 cols=4096: THREADS=128 waves=1 90; ");
}

// What was timed at one size alone may be quick there and slow elsewhere.
TEST(TunedChoice, LeavesOutWhatWasNotTimedEverywhere) {
  EXPECT_EQ(choice({record("THREADS=64 waves=4", 100, 1), record("THREADS=64 waves=4", 100, 64),
                    record("THREADS=128 waves=4", 10, 1)}),
            " THREADS=64; rows=1 cols=4096: waves=4; rows=64 cols=4096: waves=4");
}

TEST(TunedChoice, LeavesWhatTheCallerGave) {
  const std::vector<TuningRecord> records = {
      record("THREADS=64 waves=4", 100), record("THREADS=64 waves=1", 50),
      record("THREADS=128 waves=4", 40), record("THREADS=128 waves=1", 10)};
  EXPECT_EQ(choice(records), " THREADS=128; rows=512 cols=4096: waves=1");
  EXPECT_EQ(choice(records, Bindings().set("THREADS", 64)),
            " THREADS=64; rows=512 cols=4096: waves=1");
  EXPECT_EQ(choice(records, Bindings().set("waves", "4").set("THREADS", 64)),
            " THREADS=64; rows=512 cols=4096: waves=4");
  EXPECT_EQ(choice(records, Bindings().set("THREADS", 256)), "");
}

TEST(TunedChoice, DoesNotDependOnTheOrderOfRecords) {
  std::vector<TuningRecord> records;
  std::mt19937_64 random(7);
  for (const char* threads : {"THREADS=64", "THREADS=128"}) {
    for (const char* waves : {" waves=1", " waves=4", " waves=16"}) {
      for (const int rows : {1, 64, 4096}) {
        records.push_back(record(std::string(threads) + waves,
                                 1000 + static_cast<std::int64_t>(random() % 30), rows));
      }
    }
  }
  const std::string first = choice(records);
  for (int i = 0; i < 200; ++i) {
    std::shuffle(records.begin(), records.end(), random);
    ASSERT_EQ(choice(records), first);
  }
}

}  // namespace
}  // namespace diecast
