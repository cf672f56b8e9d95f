// gemm_nvfp4 as a caller has it: matrices that were quantized here, each layout letter, and row
// scales whose order of products shows in the last place.
#include "ops/gemm_fixture.h"

namespace diecast {
namespace {

TEST_F(GemmNvfp4, EachLayoutLetterReadsItsSide) {
  GemmNvfp4Options options = on_host();
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    const Want want{false, layout};
    options.layout = "TN";  // [48, 64] by [80, 64]
    expect_product(quantized(values(48, 64, 1), want), quantized(values(80, 64, 2), want), options);
    options.layout = "NN";  // the gradient of the activation: [48, 80] by [80, 64]
    expect_product(quantized(values(48, 80, 3), want), quantized(values(80, 64, 4), want), options);
    options.layout = "NT";  // the gradient of the weight: [48, 80] by [48, 64]
    expect_product(quantized(values(48, 80, 5), want), quantized(values(48, 64, 6), want), options);
  }
}

TEST_F(GemmNvfp4, RowScalesAreAppliedInTheOrderThatIsStated) {
  GemmNvfp4Options options = on_host();
  options.alpha = 0.7f;
  int seed = 10;
  for (const std::int64_t rows : {1, 33}) {
    for (const std::int64_t cols : {1, 40}) {
      for (const int scaled : {0, 1, 2, 3}) {
        const auto a = quantized(values(rows, 96, seed++), {(scaled & 1) != 0});
        const auto b = quantized(values(cols, 96, seed++), {(scaled & 2) != 0});
        options.bias.reset();
        expect_product(a, b, options);
        options.bias = values(1, cols, seed++);
        options.bias->shape = Shape{cols};
        expect_product(a, b, options);
      }
    }
  }
}

TEST_F(GemmNvfp4, EachOperandHasItsOwnBound) {
  expect_product(quantized(values(16, 32, 40), {false, ScaleLayout::linear, 256}),
                 quantized(values(24, 32, 41), {}), on_host());
}

TEST_F(GemmNvfp4, AccumulatesInTheOutputsType) {
  GemmNvfp4Options options = on_host();
  const auto a = quantized(values(17, 64, 50), {true}), b = quantized(values(24, 64, 51), {});
  const Tensor once = room(17, 24, DType::bf16), twice = room(17, 24, DType::bf16);
  gemm_nvfp4(*runtime_, a, b, once, options).value();
  gemm_nvfp4(*runtime_, a, b, twice, options).value();
  options.accumulate = true;
  gemm_nvfp4(*runtime_, a, b, twice, options).value();
  for (int i = 0; i < 17 * 24; ++i) {
    const float one = reference::load(once.data, DType::bf16, i);
    EXPECT_EQ(reference::load(twice.data, DType::bf16, i), 2 * one) << i;
  }
}

TEST_F(GemmNvfp4, NothingIsDoneForAnOutputWithoutElements) {
  const auto a = quantized(values(0, 64, 60), {}), b = quantized(values(24, 64, 61), {});
  gemm_nvfp4(*runtime_, a, b, room(0, 24), on_host()).value();
}

TEST_F(GemmNvfp4, AProductOfNothingIsTheBias) {
  QuantizedTensor a = quantized(values(3, 16, 62), {}), b = quantized(values(5, 16, 63), {});
  a.shape = {3, 0}, b.shape = {5, 0};
  GemmNvfp4Options options = on_host();
  options.bias = values(1, 5, 64);
  const Tensor out = room(3, 5);
  gemm_nvfp4(*runtime_, a, b, out, options).value();
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(bytes_at(static_cast<float*>(out.data) + row * 5, 20),
              bytes_at(options.bias->data, 20));
  }
}

}  // namespace
}  // namespace diecast
