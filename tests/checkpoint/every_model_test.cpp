// What becomes of the models that people have: every tensor of every folder as it was written down
// by hand.
#include <checkpoint/models/model_plan.h>
#include <diecast/base/text.h>

#include <algorithm>

namespace diecast::testing {
namespace {

// The tensor of this name, or the first of those that become of it.
const PlannedTensor& stored_in(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.tensors, name, &PlannedTensor::stored_in);
  return found == plan.tensors.end() ? planned(plan, name) : *found;
}

TEST(EveryModel, IsQuantizedAsItsEnginesReadIt) {
  int seen = 0;
  for (const ModelFolder& folder : model_folders()) {
    if (!folder.refused.empty()) continue;
    SCOPED_TRACE(folder.name);
    ++seen;
    const auto plan = model_plan(folder);
    ASSERT_TRUE(plan) << plan.error().message();
    for (const ModelTensor& tensor : tensors_of(folder)) {
      if (tensor.gone) {
        EXPECT_EQ(std::ranges::count(plan->tensors, tensor.name, &PlannedTensor::name), 0);
        continue;
      }
      const PlannedTensor& got = stored_in(*plan, tensor.name);
      EXPECT_EQ(got.action == Action::quantize, tensor.quantized)
          << tensor.name << ": " << got.reason;
    }
  }
  EXPECT_GE(seen, 60);
}

TEST(EveryModel, ThatCannotBeQuantizedIsRefusedForItsOneReason) {
  int seen = 0;
  for (const ModelFolder& folder : model_folders()) {
    if (folder.refused.empty()) continue;
    SCOPED_TRACE(folder.name);
    ++seen;
    const auto plan = model_plan(folder);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message().find(folder.refused), std::string::npos)
        << plan.error().message();
  }
  EXPECT_GE(seen, 8);
}

// A note a layer would hide the ones that matter.
TEST(EveryModel, HasAFewNotesAtMost) {
  for (const ModelFolder& folder : model_folders()) {
    if (!folder.refused.empty()) continue;
    const Plan plan = model_plan(folder).value();
    EXPECT_LE(plan.notes.size(), 2u) << folder.name << ": " << join(plan.notes, "\n");
  }
}

}  // namespace
}  // namespace diecast::testing
