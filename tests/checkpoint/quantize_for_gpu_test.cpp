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
  void expect_bits_of_this_gpu(const QuantizeOptions& options) {
    expect_bits(options, device_kernels(test_runtime(), device_, options.scheme));
  }
};

TEST_F(QuantizeForOnGpu, HasTheBitsOfEachForm) {
  add_experts();
  for (QuantizeOptions options : forms_of_new_weights()) {
    options.input_scale = 0.25f;
    expect_bits_of_this_gpu(options);
  }
}

TEST_F(QuantizeForOnGpu, HasTheBitsOfTwoFormatsInOneFolder) {
  QuantizeOptions options;
  options.config = EngineConfig::modelopt;
  options.mxfp8 = {"*.self_attn.*"};
  expect_bits_of_this_gpu(options);
}

TEST_F(QuantizeForOnGpu, HasTheBitsOfAnotherScheme) {
  QuantizeOptions options;
  options.config = EngineConfig::modelopt;
  options.scheme.four_over_six = FourOverSix::mse;
  expect_bits_of_this_gpu(options);
}

}  // namespace
}  // namespace diecast::testing
