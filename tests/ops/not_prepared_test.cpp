// An op that was made by default, as a member of an engine's layer is, or moved from: it has no
// kernel, and says so.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/every_prepared.h"
#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

std::string message(std::string_view op) {
  return cat("diecast: not_resident: ", op,
             " is not prepared: this op was made by default or moved from\n"
             "  fix: run the op that its prepare() returned");
}

class NotPrepared : public EveryPrepared {};

void expect_refused(const Result<void>& ran, const std::string& op) {
  ASSERT_FALSE(ran) << op;
  EXPECT_EQ(ran.error().message(), message(op));
}

TEST_F(NotPrepared, AnOpMadeByDefaultIsAnErrorThatNamesIt) {
  EXPECT_GT(made_by_default_.size(), 20u);
  for (const auto& [name, run] : made_by_default_) expect_refused(run(), name.first);
  expect_refused(PreparedDescribeGroup().run({}, {}, "an op", {}), "an op");
  expect_refused(PreparedMasterCast().run(nullptr, {}), "cast_master_weights");
  expect_refused(PreparedPostAllGather().run({}), "post_all_gather_processing");
  EXPECT_EQ(PreparedMasterCast().scratch_bytes(), 0);
}

TEST_F(NotPrepared, NorIsAnOpThatWasMovedFrom) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const testing::Matrices m(*device, 64, 4096);
  for (const bool amax_given : {false, true}) {
    auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, {.amax_given = amax_given}).value();
    const PreparedQuantizeNvfp4 kept = std::move(op);
    EXPECT_TRUE(kept.run(m.x, m.out, {}));
    // What was moved from has its request still.
    const auto ran = op.run(m.x, m.out, {});  // NOLINT(bugprone-use-after-move)
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().message(), message("quantize_nvfp4"));
  }
}

}  // namespace
}  // namespace diecast
