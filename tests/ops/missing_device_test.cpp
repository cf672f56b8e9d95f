// Whoever forgets the device gets an error, whatever is prepared.
#include "ops/fake_gpu.h"

namespace diecast {
namespace {

class MissingDevice : public testing::OnFakeGpu {
 protected:
  static constexpr const char* kError =
      "diecast: invalid_argument: no device was given\n"
      "  fix: give runtime.default_device(), or open_host_device()";

  template <class... Prepared>
  void expect_refused() {
    const auto refused = [&](const auto& prepared) {
      EXPECT_TRUE(!prepared && prepared.error().message() == kError);
    };
    (refused(Prepared::prepare(*runtime_, nullptr, typename Prepared::Request{})), ...);
  }
};

TEST_F(MissingDevice, IsAnErrorOfEveryPreparation) {
  expect_refused<PreparedAmax, PreparedAmaxGrouped, PreparedArrangeScales, PreparedDequantizeMx,
                 PreparedDequantizeNvfp4, PreparedComputeFp4Scales, PreparedStaticFp4FakeQuant,
                 PreparedFp4FakeQuantBlock, PreparedGemmNvfp4, PreparedQuantizeMx,
                 PreparedQuantizeMxGrouped, PreparedQuantizeNvfp4, PreparedQuantizeNvfp4Grouped,
                 PreparedQuantizeNvfp4, PreparedTransposeCodes, PreparedTransposeNvfp4>();
}

TEST_F(MissingDevice, IsAnErrorOfThePreparationOfKernels) {
  const auto kernel = runtime_->specialize(testing::kAmax).value();
  EXPECT_EQ(runtime_->preload(kernel, nullptr).error().message(), kError);
  EXPECT_EQ(runtime_->preload(std::array{kernel}, nullptr).error().message(), kError);
  EXPECT_EQ(runtime_->tune(TuneRequest{}, nullptr).error().message(), kError);
}

}  // namespace
}  // namespace diecast
