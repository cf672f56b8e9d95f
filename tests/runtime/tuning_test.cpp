// What a runtime makes of tuning records, without the runtime: which it believes, what they choose,
// and what it says it has chosen.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/tuning.h>
#include <gtest/gtest.h>

#include <chrono>

#include "fake/cuda_script.h"
#include "runtime/tuning_samples.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::record;

class TuningTest : public ::testing::Test {
 protected:
  RuntimeOptions telling() {
    RuntimeOptions options;
    options.tuning = folder_ / "tuned.txt";
    options.on_event = [this](const RuntimeEvent& event) { told_.push_back(event.detail); };
    return options;
  }
  Specialization plain(const Bindings& more = {}) const {
    return Specialization::make(tmpl_, Bindings(more).set("IN", DType::bf16), target_).value();
  }
  std::string chosen(const Bindings& more = {}) {
    return tuning_.specialize(tmpl_, Bindings(more).set("IN", DType::bf16), target_, *device_)
        ->spelling();
  }
  std::string digest_of(std::vector<TuningRecord> records) {
    Tuning tuning(common_);
    tuning.add(std::move(records));
    (void)tuning.launches(plain(), *device_);
    return tuning.digest();
  }

  testing::FakeCuda cuda_;
  testing::TemporaryDirectory folder_;
  std::shared_ptr<Device> device_ = cuda_.device();
  std::vector<std::string> told_;
  const std::shared_ptr<const Template> tmpl_ = Template::parse("k", testing::kTunedText).value();
  const Target target_ = Target::parse("sm_90a").value();
  Common common_{telling()};
  Tuning tuning_{common_};
};

TEST_F(TuningTest, WithoutRecordsChoosesNothing) {
  EXPECT_FALSE(tuning_.has_records());
  EXPECT_EQ(chosen(), "k COLS=0 IN=bf16 THREADS=64 @ sm_90a");
  EXPECT_TRUE(tuning_.launches(plain(), *device_).empty());
  EXPECT_TRUE(tuning_.variants(plain(), {}).empty());
}

TEST_F(TuningTest, ChoosesWhatTheBindingsLeaveOut) {
  tuning_.add({record("THREADS=128 waves=16", 10), record("THREADS=64 waves=4", 20)});
  EXPECT_EQ(chosen(), "k COLS=0 IN=bf16 THREADS=128 @ sm_90a");
  EXPECT_EQ(chosen(Bindings().set("THREADS", 64)), "k COLS=0 IN=bf16 THREADS=64 @ sm_90a");
  const auto launches = tuning_.launches(plain(Bindings().set("THREADS", 128)), *device_);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].tunes.find("waves")->spelling(), "16");
}

TEST_F(TuningTest, KnowsWhatItChoseOfAKernel) {
  const Specialization one = plain(Bindings().set("THREADS", 128));
  EXPECT_EQ(tuning_.chosen(one), "");
  (void)tuning_.launches(one, *device_);
  EXPECT_EQ(tuning_.chosen(one), "");  // no records, nothing chosen
  tuning_.add({record("THREADS=128 waves=16", 10), record("THREADS=64 waves=4", 20)});
  (void)tuning_.launches(one, *device_);
  EXPECT_EQ(tuning_.chosen(one), "; THREADS=128; rows=512 cols=4096: waves=16");
}

TEST_F(TuningTest, TellsEachRecordThatItDoesNotBelieveOnce) {
  const TuningRecord wrong = record("THREADS=96 waves=1", 1);
  tuning_.add({wrong, record("THREADS=128 waves=1", 10)});
  EXPECT_TRUE(told_.empty());  // nobody has asked for its template
  EXPECT_EQ(tuning_.records_of(plain(), "").size(), 1u);
  EXPECT_EQ(tuning_.records_of(plain(), "").size(), 1u);
  EXPECT_EQ(told_, std::vector<std::string>{cat(wrong.key(), ": THREADS cannot be \"96\"")});
  EXPECT_EQ(common_.count.ignored, 1u);
}

// Whoever prepares a kernel asks, and a process has many.
TEST_F(TuningTest, ChecksAndSortsRecordsOnceForAllThatAsk) {
  std::vector<TuningRecord> elsewhere;
  for (int rows = 1; rows <= 1000; ++rows) {
    elsewhere.push_back(record("THREADS=64 waves=1", 10, rows));
    elsewhere.back().device = "Other_GPU/90/64";
  }
  tuning_.add(std::move(elsewhere));
  const auto seconds_of = [&](int times) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) (void)chosen();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double first = seconds_of(1);
  EXPECT_LT(seconds_of(20), first);
}

TEST_F(TuningTest, ReadsTheFilesOfItsOptions) {
  testing::write_text(folder_ / "tuned.txt", cat(record("THREADS=128 waves=1", 10).line(), "\n"));
  tuning_.open();
  EXPECT_EQ(chosen(), "k COLS=0 IN=bf16 THREADS=128 @ sm_90a");
  EXPECT_TRUE(told_.empty());
}

TEST_F(TuningTest, AFileThatIsNotThereIsTold) {
  tuning_.open();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_TRUE(told_[0].starts_with("cannot open ")) << told_[0];
  EXPECT_FALSE(tuning_.has_records());
}

TEST_F(TuningTest, HasAVariantForEachDeviceThatChoosesAnother) {
  TuningRecord elsewhere = record("THREADS=128 waves=1", 10);
  elsewhere.device = "Other_GPU/90/64";
  tuning_.add({elsewhere, record("THREADS=64 waves=1", 10)});
  const auto variants = tuning_.variants(plain(), {});
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].spelling(), "k COLS=0 IN=bf16 THREADS=128 @ sm_90a");
  EXPECT_TRUE(tuning_.variants(plain(), Bindings().set("THREADS", 64)).empty());
  EXPECT_EQ(chosen(), "k COLS=0 IN=bf16 THREADS=64 @ sm_90a");  // here
}

TEST_F(TuningTest, TheDigestFollowsWhatWasChosenAndNoOrder) {
  const TuningRecord few = record("THREADS=64 waves=1", 10, 8),
                     many = record("THREADS=64 waves=16", 10);
  EXPECT_EQ(digest_of({few, many}), digest_of({many, few}));
  EXPECT_NE(digest_of({few, many}), digest_of({few}));
  EXPECT_NE(digest_of({few}), Tuning(common_).digest());
}

}  // namespace
}  // namespace diecast
