// Tuning and its records in a runtime, on the fake driver: what is chosen, what is told, what is
// never done while serving.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/tuner.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "runtime/fake_machine.h"
#include "runtime/tuning_samples.h"

namespace diecast {
namespace {

using testing::FakeLaunch;
using testing::FakeMachine;
using testing::record;
using Outcome = TuningRecord::Outcome;

class TunerTest : public ::testing::Test {
 protected:
  TunerTest() {
    testing::write_text(folder_ / "k.cu", testing::kTunedText);
    machine_.cuda->parameters["k"] = {8, 8, 8, 8};
  }
  std::shared_ptr<Runtime> runtime(const std::string& tuning = "") {
    RuntimeOptions options = machine_.options();
    options.tuning = tuning;
    options.on_event = [this](const RuntimeEvent& event) {
      std::lock_guard lock(mutex_);
      if (event.kind == RuntimeEvent::Kind::ignored || event.kind == RuntimeEvent::Kind::degraded)
        told_.push_back(event.detail);
    };
    auto out = Runtime::create(options).value();
    EXPECT_TRUE(out->add(folder_ / "k.cu"));
    return out;
  }
  static Bindings bf16() { return Bindings().set("IN", DType::bf16); }
  static TuneRequest eight_rows() {
    TuneRequest request;
    request.name = "k";
    request.bindings = bf16();
    request.sizes = {{{"rows", 8}, {"cols", 64}}};
    request.samples = 3;
    return request;
  }
  // Of each record as it comes.
  static void tell_tunes(TuneRequest& request, std::vector<std::string>& to) {
    request.on_record = [&to](const TuningRecord& one) -> Result<void> {
      to.push_back(one.tunes);
      return {};
    };
  }
  std::string spelling(Runtime& runtime, const Bindings& bindings = bf16()) {
    return runtime.specialize_for("k", bindings, *device_).value().spelling();
  }
  // The thread blocks of a launch of so many rows.
  unsigned grid(Runtime& runtime, std::int64_t rows, const Bindings& bindings = bf16()) {
    const auto kernel =
        runtime.preload(runtime.specialize_for("k", bindings, *device_).value(), device_).value();
    const KernelArgument arguments[] = {
        KernelArgument::tensor(DType::bf16, reinterpret_cast<void*>(0x1000)),
        KernelArgument::tensor(DType::bf16, reinterpret_cast<void*>(0x2000)),
        KernelArgument::size(rows), KernelArgument::size(4096)};
    EXPECT_TRUE(kernel->launch(arguments, {}));
    return machine_.cuda->launches.back().grid[0];
  }

  FakeMachine machine_;
  testing::TemporaryDirectory folder_;
  std::shared_ptr<Device> device_ = machine_.cuda.device();
  std::mutex mutex_;
  std::vector<std::string> told_;
};

TEST_F(TunerTest, WithoutRecordsTheDefaultsHold) {
  const auto engine = runtime();
  EXPECT_EQ(spelling(*engine), "k COLS=0 IN=bf16 THREADS=64 @ sm_90a");
  EXPECT_EQ(grid(*engine, 100000), 132u * 4);
}

TEST_F(TunerTest, RecordsChooseWhatTheCallerLeavesOpen) {
  const auto engine = runtime();
  engine->add_tuning({record("THREADS=128 waves=1", 10, 1), record("THREADS=64 waves=4", 20, 1),
                      record("THREADS=128 waves=16", 100, 8192),
                      record("THREADS=64 waves=4", 200, 8192)});
  EXPECT_EQ(spelling(*engine), "k COLS=0 IN=bf16 THREADS=128 @ sm_90a");
  EXPECT_EQ(spelling(*engine, bf16().set("THREADS", 64)), "k COLS=0 IN=bf16 THREADS=64 @ sm_90a");
  EXPECT_EQ(spelling(*engine, Bindings().set("IN", DType::f32)),
            "k COLS=0 IN=f32 THREADS=64 @ sm_90a");  // not measured
  // One kernel, and a launch by its rows: as near to 1 as to 8192 is 90.
  EXPECT_EQ(grid(*engine, 80), 80u);
  EXPECT_EQ(grid(*engine, 100), 100u);
  EXPECT_EQ(grid(*engine, 100000), 132u * 16);
  EXPECT_EQ(grid(*engine, 2112), 2112u);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), 1u);
  EXPECT_EQ(told_, std::vector<std::string>());
}

TEST_F(TunerTest, ALaunchTuneThatTheCallerGaveStays) {
  const auto engine = runtime();
  engine->add_tuning(
      {record("THREADS=64 waves=16", 10, 8192), record("THREADS=64 waves=4", 20, 8192)});
  EXPECT_EQ(grid(*engine, 100000, bf16().set("waves", 1)), 132u);
}

// A machine that warms has not the device; it builds what a machine that has it will ask for.
TEST_F(TunerTest, WarmingBuildsTheDefaultAndWhatRecordsChoose) {
  const auto engine = runtime();
  engine->add_tuning({record("THREADS=128 waves=1", 10)});
  const auto spellings = [&](const char* line) {
    std::vector<std::string> out;
    const auto expanded = expand_manifest(*engine, line, "m.txt", {}).value();
    for (const Specialization& one : expanded) out.push_back(one.spelling());
    return out;
  };
  EXPECT_EQ(spellings("k IN=bf16 @ sm_90a"),
            (std::vector<std::string>{"k COLS=0 IN=bf16 THREADS=64 @ sm_90a",
                                      "k COLS=0 IN=bf16 THREADS=128 @ sm_90a"}));
  EXPECT_EQ(spellings("k IN=bf16 THREADS=64 @ sm_90a").size(), 1u);
  EXPECT_EQ(spellings("k IN=f32 @ sm_90a").size(), 1u);
  EXPECT_EQ(spellings("k IN=bf16 @ sm_100a").size(), 1u);
}

// T-01
TEST_F(TunerTest, RecordsOfOtherDevicesAndWrongOnesAreNotUsed) {
  TuningRecord other = record("THREADS=128 waves=1", 1);
  other.device = "Other_GPU/90/132";
  const TuningRecord outside = record("THREADS=96 waves=1", 1);
  testing::write_text(folder_ / "tuned.txt",
                      cat(other.line(), "\n", outside.line(), "\n",
                          record("THREADS=128 waves=4", 5).line().substr(3), "\n"));
  const auto engine = runtime(cat(folder_ / "tuned.txt", ",", folder_ / "none.txt"));
  EXPECT_EQ(spelling(*engine), "k COLS=0 IN=bf16 THREADS=64 @ sm_90a");
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_EQ(told_[0], cat(folder_ / "tuned.txt",
                          ": line 3: the version of a tuning record is "
                          "\"k COLS=0 IN=bf16 @ sm_90a\"\n"
                          "  fix: leave it out, or measure again (`diecast tune`)"));
  EXPECT_TRUE(told_[1].starts_with("cannot open \"")) << told_[1];
  EXPECT_EQ(told_[2], cat(outside.key(), ": THREADS cannot be \"96\""));
  EXPECT_EQ(engine->counters().ignored, 3u);
  EXPECT_EQ(spelling(*engine), "k COLS=0 IN=bf16 THREADS=64 @ sm_90a");  // told once
  EXPECT_EQ(told_.size(), 3u);
}

TEST_F(TunerTest, TheDigestOfSelectionsIsTheSameInAnyOrder) {
  const auto first = runtime(), second = runtime(), third = runtime();
  const auto records = std::vector{record("THREADS=128 waves=1", 10, 8192)};
  for (const auto& engine : {first, second}) engine->add_tuning(records);
  const Bindings f32 = Bindings().set("IN", DType::f32);
  for (const auto& [engine, order] : {std::pair(first, std::vector{bf16(), f32}),
                                      {second, {f32, bf16()}},
                                      {third, {bf16(), f32}}}) {
    for (const Bindings& bindings : order) {
      const auto one = engine->specialize_for("k", bindings, *device_).value();
      ASSERT_TRUE(engine->preload(one, device_));
    }
  }
  EXPECT_EQ(first->selection_digest().size(), 32u);
  EXPECT_EQ(first->selection_digest(), second->selection_digest());
  EXPECT_NE(first->selection_digest(), third->selection_digest());
}

TEST_F(TunerTest, TimesEveryConfigurationAndTellsEach) {
  const auto engine = runtime();
  TuneRequest request = eight_rows();
  request.sizes.push_back({{"rows", 64}, {"cols", 64}});
  std::vector<std::string> order;
  tell_tunes(request, order);
  const auto records = engine->tune(request, device_);
  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 12u);  // 2 of THREADS (256 is not for bf16), 3 of waves, 2 of sizes
  for (const TuningRecord& one : *records) {
    EXPECT_EQ(one.outcome, Outcome::timed) << one.line();
    EXPECT_EQ(one.samples, 3);
    EXPECT_TRUE(check_tuning_record(one, engine->find_template("k").value()));
  }
  EXPECT_EQ(order[0], "THREADS=64 waves=4");  // the default first
  EXPECT_EQ(machine_.cuda->violations, std::vector<std::string>());

  // What is known is not measured again; a tune that is given is held.
  const std::size_t launches = machine_.cuda->launches.size();
  request.known = *records;
  EXPECT_EQ(engine->tune(request, device_).value(), *records);
  EXPECT_EQ(machine_.cuda->launches.size(), launches);
  request.known = {};
  request.sizes.resize(1);
  request.bindings.set("waves", 1);
  const auto held = engine->tune(request, device_).value();
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].tunes, "THREADS=128 waves=1");
}

// Where the defaults break a requirement, what breaks none is held against the first such.
TEST_F(TunerTest, ATemplateWhoseDefaultsDoNotFitIsTunedToo) {
  std::string text = testing::kTunedText;
  const std::string_view bf16_alone = "require THREADS < 256 || IN != bf16";
  text.replace(text.find(bf16_alone), bf16_alone.size(), "require THREADS >= COLS");
  testing::write_text(folder_ / "wide.cu", text);
  machine_.cuda->parameters["wide"] = {8, 8, 8};  // cols is compiled in
  const auto engine = runtime();
  ASSERT_TRUE(engine->add(folder_ / "wide.cu"));
  TuneRequest request;
  request.name = "wide";
  request.bindings = bf16().set("COLS", 128).set("waves", 4);
  request.sizes = {{{"rows", 8}}};
  request.samples = 3;
  std::vector<std::string> order;
  tell_tunes(request, order);
  const auto records = engine->tune(request, device_);
  ASSERT_TRUE(records) << records.error().message();
  EXPECT_EQ(order, (std::vector<std::string>{"THREADS=128 waves=4", "THREADS=256 waves=4"}));
  engine->add_tuning(*records);
  const auto points = engine->tuned_points("wide", bf16().set("COLS", 128), *device_);
  ASSERT_TRUE(points) << points.error().message();
  ASSERT_EQ(points->size(), 1u);
  EXPECT_EQ(points->front().sizes, request.sizes.front());
  EXPECT_TRUE(engine->tuned_points("wide", bf16().set("COLS", 64), *device_).value().empty());
  request.bindings.set("COLS", 512);  // none does
  EXPECT_EQ(engine->tune(request, device_).error().code, ErrorCode::constraint_violated);
}

TEST_F(TunerTest, TakesOneSampleOrMore) {
  TuneRequest request = eight_rows();
  request.samples = 0;
  const auto none = runtime()->tune(request, device_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(),
            "diecast: invalid_argument: 0 samples of a launch\n  fix: take one or more");
}

TEST_F(TunerTest, TimesNoLaunchOfNothing) {
  TuneRequest request = eight_rows();
  request.sizes = {{{"rows", 0}, {"cols", 64}}};
  EXPECT_EQ(runtime()->tune(request, device_).error().message(),
            "diecast: invalid_argument: k COLS=0 IN=bf16 @ sm_90a launches nothing at rows=0 "
            "cols=64: there is no time to measure\n  fix: give sizes of 1 or more");
}

// A configuration whose bytes are others, or that the caller's check or a limit refuses, never
// wins.
TEST_F(TunerTest, WhatIsNotEqualToTheDefaultIsNotTimed) {
  machine_.cuda->on_launch = [](const FakeLaunch& launch, void** parameters) {
    auto* const y = *static_cast<std::uint8_t**>(parameters[1]);
    y[5] = launch.block[0] == 128 ? 1 : 2;
  };
  const auto engine = runtime();
  TuneRequest request = eight_rows();
  request.check = [](const TunedRun& run) -> Result<void> {
    if (run.arguments.size() == 4 && run.specialization.number("waves") != 16) return {};
    return Error{ErrorCode::invalid_argument, "not this one", "none"};
  };
  const auto records = engine->tune(request, device_).value();
  const auto outcome = [&](std::string_view tunes) {
    return std::ranges::find(records, tunes, &TuningRecord::tunes)->outcome;
  };
  EXPECT_EQ(outcome("THREADS=64 waves=4"), Outcome::timed);
  EXPECT_EQ(outcome("THREADS=64 waves=1"), Outcome::timed);
  EXPECT_EQ(outcome("THREADS=64 waves=16"), Outcome::differs);
  EXPECT_EQ(outcome("THREADS=128 waves=4"), Outcome::differs);
}

TEST_F(TunerTest, AConfigurationThatFailsIsAnOutcomeAndADefaultThatFailsIsAnError) {
  machine_.nvrtc.set("FAIL", "");
  const auto engine = runtime();
  TuneRequest request = eight_rows();
  request.bindings.set("waves", 4);
  const auto loads = machine_.cuda->count("cuLibraryLoadData");
  machine_.cuda->fail["cuLibraryLoadData"][loads + 2] = 2;
  const auto records = engine->tune(request, device_).value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(
      records[0].line().substr(0, records[0].line().rfind(" | ")),
      "1 | k COLS=0 IN=bf16 @ sm_90a | Fake_GPU/90/132 | rows=8 cols=64 | THREADS=128 waves=4 "
      "| failed");
  EXPECT_EQ(records[1].outcome, Outcome::timed);

  machine_.cuda->fail["cuLaunchKernel"][testing::CudaScript::kEveryCall] = 700;
  const auto lost = engine->tune(request, device_);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, ErrorCode::driver_error);
  machine_.cuda->fail.clear();
  request.sizes = {{{"rows", 8}}};
  EXPECT_EQ(engine->tune(request, device_).error().message(),
            "diecast: value_missing: k COLS=0 IN=bf16 @ sm_90a is tuned for sizes of (rows, cols), "
            "given (rows)\n  fix: give each once, in this order");
}

}  // namespace
}  // namespace diecast
