// New weights in a GPU's memory have the bits of the folder that `quantize` makes on that GPU.
#include <checkpoint/new_weights.h>

namespace diecast::testing {
namespace {

class QuantizeForOnGpu : public NewWeights {
 protected:
  void SetUp() override {
    const auto device = test_runtime()->default_device();
    if (!device) GTEST_SKIP() << device.error().message();
    use(*device);
  }
  void TearDown() override {
    if (device_) device_->destroy_stream(stream_).value();
  }
  ConvertKernels kernels(const QuantizeOptions& options) override {
    return device_kernels(test_runtime(), device_, options.scheme);
  }
};

TEST_F(QuantizeForOnGpu, HasTheBitsOfEachForm) { expect_bits_of_each_form(); }

TEST_F(QuantizeForOnGpu, HasTheBitsOfTwoFormatsInOneFolder) {
  expect_bits_of_two_formats_in_one_folder();
}

TEST_F(QuantizeForOnGpu, HasTheBitsOfAnotherScheme) {
  QuantizeOptions options;
  options.config = EngineConfig::modelopt;
  options.scheme.four_over_six = FourOverSix::mse;
  expect_bits(options);
}

}  // namespace
}  // namespace diecast::testing
