// Whoever forgets the device gets an error, whatever is prepared.
#include <diecast/ops/every_op.h>

#include "ops/fake_gpu.h"

namespace diecast {
namespace {

class MissingDevice : public testing::OnFakeGpu {
 protected:
  static constexpr const char* kError =
      "diecast: invalid_argument: no device was given\n"
      "  fix: give runtime.default_device(), or open_host_device()";
};

// Those of sharded weights take their device from a rank's lists.
TEST_F(MissingDevice, IsAnErrorOfEveryPreparation) {
  for_each_op([&]<class Prepared>(std::type_identity<Prepared>) {
    using Request = typename Prepared::Request;
    if constexpr (requires { Prepared::prepare(*runtime_, nullptr, Request{}); }) {
      const auto prepared = Prepared::prepare(*runtime_, nullptr, Request{});
      ASSERT_FALSE(prepared) << Request::kName;
      EXPECT_EQ(prepared.error().message(), kError) << Request::kName;
    }
  });
}

TEST_F(MissingDevice, IsAnErrorOfThePreparationOfKernels) {
  const auto kernel = runtime_->specialize(testing::kAmax).value();
  EXPECT_EQ(runtime_->preload(kernel, nullptr).error().message(), kError);
  EXPECT_EQ(runtime_->preload(std::array{kernel}, nullptr).error().message(), kError);
  EXPECT_EQ(runtime_->tune(TuneRequest{}, nullptr).error().message(), kError);
}

}  // namespace
}  // namespace diecast
