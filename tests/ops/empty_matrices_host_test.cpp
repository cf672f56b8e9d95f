// Matrices without elements, an expert's that has no tokens: nothing is done, and no buffer is
// needed.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/host_device_test.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using EmptyMatrices = HostDeviceTest;

TEST_F(EmptyMatrices, NeedNoBuffers) {
  Runtime& runtime = *test_runtime();
  for (const Shape& shape : {Shape{0, 64}, Shape{4, 0}}) {
    const Tensor x{nullptr, DType::bf16, shape};
    for (const bool given : {false, true}) {
      for (const bool row_scaled : {false, true}) {
        const QuantizedTensor out{.shape = shape, .row_scaled = row_scaled};
        QuantizeNvfp4Options options;
        options.amax_given = given, options.device = device_;
        const auto done = quantize_nvfp4(runtime, x, out, options);
        EXPECT_TRUE(done) << shape.text() << given << row_scaled << done.error().message();
      }
    }
    QuantizeNvfp4TilesOptions options;
    options.device = device_;
    const auto tiles = quantize_nvfp4_tiles(runtime, x, {.shape = shape}, options);
    EXPECT_TRUE(tiles) << tiles.error().message();
    const auto back = dequantize_nvfp4(runtime, {.shape = shape}, x, {.device = device_});
    EXPECT_TRUE(back) << back.error().message();
  }
}

TEST_F(EmptyMatrices, AmaxesThatAreThereAreFound) {
  float amax = 7;
  QuantizedTensor out{.shape = Shape{0, 64}};
  out.rowwise.amax = &amax;
  const Tensor x{nullptr, DType::bf16, Shape{0, 64}};
  QuantizeNvfp4Options options;
  options.device = device_;
  ASSERT_TRUE(quantize_nvfp4(*test_runtime(), x, out, options));
  EXPECT_EQ(amax, 0);
}

TEST_F(EmptyMatrices, HaveAnEmptyProduct) {
  const QuantizedTensor a{.shape = Shape{0, 64}};
  QuantizedTensor b{.shape = Shape{16, 64}};
  b.rowwise = b.rowwise_sizes().value();
  std::vector<std::uint8_t> codes(b.rowwise.data_bytes), scales(b.rowwise.scale_bytes);
  float amax = 1;
  b.rowwise.data = codes.data(), b.rowwise.scale = scales.data(), b.rowwise.amax = &amax;
  const Tensor out{nullptr, DType::bf16, Shape{0, 16}};
  GemmNvfp4Options options;
  options.device = device_;
  const auto done = gemm_nvfp4(*test_runtime(), a, b, out, options);
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace diecast
