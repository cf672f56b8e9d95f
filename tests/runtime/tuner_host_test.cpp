// Tuning for real, on this processor: equal bits are required, and a tune that changes a result is
// found out.
#include <diecast/launch/host_device.h>
#include <diecast/runtime/tuner.h>
#include <gtest/gtest.h>

#include "runtime/tuning_samples.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using Outcome = TuningRecord::Outcome;

class TunerOnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    RuntimeOptions options = RuntimeOptions::from_environment();
    options.cache = folder_ / "cache";
    runtime_ = Runtime::create(options).value();
    auto device = open_host_device(HostDeviceOptions::from_environment());
    const auto compiler = runtime_->compiler(Target::parse("host").value());
    if (!device || !compiler) GTEST_SKIP() << "no host device or compiler";
    device_ = *device;
  }
  testing::TemporaryDirectory folder_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Device> device_;
};

TEST_F(TunerOnHost, TimesAmaxAndQuantizeWhoseTunesChangeNothing) {
  for (const auto& [name, configurations] :
       {std::pair{"amax", 8u}, std::pair{"quantize_nvfp4", 10u}}) {
    TuneRequest request;
    request.name = name;
    request.bindings.set("IN", DType::bf16);
    request.sizes = {{{"rows", 33}, {"cols", 160}}};
    request.samples = 3;
    const auto records = runtime_->tune(request, device_);
    ASSERT_TRUE(records) << records.error().message();
    EXPECT_EQ(records->size(), configurations);
    for (const TuningRecord& one : *records) {
      EXPECT_EQ(one.outcome, Outcome::timed) << one.line();
      EXPECT_GT(one.ns, 0);
    }
    runtime_->add_tuning(*records);
  }
  EXPECT_TRUE(runtime_->specialize_for("amax", Bindings().set("IN", DType::bf16), *device_));
}

// G-18, T-03: miscompiled, as a template whose result follows a tune.
TEST_F(TunerOnHost, FindsOutATuneThatChangesAResult) {
  std::string text = testing::kTunedText;
  text.replace(text.find("y[i] = x[i]"), 11, "y[i] = THREADS == 128 && i == 77 ? x[0] : x[i]");
  testing::write_text(folder_ / "k.cu", text);
  ASSERT_TRUE(runtime_->add(folder_ / "k.cu"));
  TuneRequest request;
  request.name = "k";
  request.bindings.set("IN", DType::f32).set("waves", 1);
  request.sizes = {{{"rows", 5}, {"cols", 33}}};
  request.samples = 3;
  const auto records = runtime_->tune(request, device_);
  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 3u);
  for (const TuningRecord& one : *records)
    EXPECT_EQ(one.outcome, one.tunes == "THREADS=128 waves=1" ? Outcome::differs : Outcome::timed)
        << one.line();
}

TEST_F(TunerOnHost, NamesAnArgumentThatAHeaderDoesNotTell) {
  TuneRequest request;
  request.name = "describe_group";
  request.sizes = {{{"count", 4}}};
  const auto refused = runtime_->tune(request, device_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().code, ErrorCode::internal);
}

}  // namespace
}  // namespace diecast
