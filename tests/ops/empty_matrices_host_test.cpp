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
        const QuantizedTensor out{.type = {.row_scaled = row_scaled}, .shape = shape};
        QuantizeNvfp4Options options;
        options.amax_given = given, options.device = device_;
        const auto done = quantize_nvfp4(runtime, x, out, options);
        EXPECT_TRUE(done) << shape.text() << given << row_scaled << done.error().message();
      }
    }
    QuantizeNvfp4Options options;
    options.device = device_;
    const auto tiles = quantize_nvfp4(runtime, x, {.shape = shape}, options);
    EXPECT_TRUE(tiles) << tiles.error().message();
    const auto back = dequantize_nvfp4(runtime, {.shape = shape}, x, {.device = device_});
    EXPECT_TRUE(back) << back.error().message();
    const auto turned =
        transpose_nvfp4(runtime, {.type = {.square = true}, .shape = shape}, {.device = device_});
    EXPECT_TRUE(turned) << turned.error().message();
  }
}

// Memory of no bytes is at no address, as on a GPU.
TEST_F(EmptyMatrices, HaveNoAddress) {
  void* const nothing = device_->allocate(0).value();
  EXPECT_EQ(nothing, nullptr);
  EXPECT_TRUE(device_->free(nothing));
}

TEST_F(EmptyMatrices, AmaxesThatAreThereAreFound) {
  const Tensor x{nullptr, DType::bf16, Shape{0, 64}};
  QuantizedTensor rows{.shape = x.shape}, both{.shape = x.shape};
  float amaxes[3] = {7, 7, 7};
  rows.rowwise = both.rowwise = rows.rowwise_sizes().value();
  both.columnwise = both.columnwise_sizes().value();
  rows.rowwise.amax = &amaxes[0];
  both.rowwise.amax = &amaxes[1], both.columnwise.amax = &amaxes[2];
  ASSERT_TRUE(quantize_nvfp4(*test_runtime(), x, rows, {.device = device_}));
  ASSERT_TRUE(quantize_nvfp4(*test_runtime(), x, both, {.device = device_}));
  for (const float amax : amaxes) EXPECT_EQ(amax, 0);

  QuantizedTensor columns{.shape = x.shape};
  columns.columnwise = both.columnwise;
  amaxes[2] = 7;
  const auto done = quantize_nvfp4(*test_runtime(), x, columns, {.device = device_});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(amaxes[2], 0);
}

// A group of `count` experts without tokens, its buffers those of torch's empty tensors.
struct EmptyGroup {
  std::vector<std::int64_t> offsets;
  std::vector<MemberDescriptor> descriptors;
  std::vector<float> amaxes;
  QuantizedGroup group;

  EmptyGroup(std::int64_t count, std::int64_t cols, Format format)
      : offsets(static_cast<std::size_t>(count) + 1),
        descriptors(static_cast<std::size_t>(count)),
        amaxes(2 * static_cast<std::size_t>(count), 7.0f) {
    group.whole.type.format = format;
    group.whole.shape = Shape{0, cols};
    group.count = count;
    group.host_row_offsets = group.device_row_offsets = offsets.data();
    group.members = descriptors.data();
    group.whole.rowwise = group.rowwise_sizes().value();
    group.whole.columnwise = group.columnwise_sizes().value();
    if (format != Format::nvfp4) return;
    group.whole.rowwise.amax = amaxes.data();
    group.whole.columnwise.amax = amaxes.data() + count;
  }
  Tensor x() const { return {nullptr, DType::bf16, group.whole.shape}; }
};

// Its keys are those of a step with tokens, or none: nothing is compiled for it.
TEST_F(EmptyMatrices, OfAStepAfterFreezeAskForNoOtherKernels) {
  const auto runtime = new_test_runtime();
  std::vector<std::uint16_t> values(64 * 64);
  for (const std::int64_t rows : {64, 0}) {
    if (rows == 0) runtime->freeze();
    const Tensor x{rows == 0 ? nullptr : values.data(), DType::bf16, Shape{rows, 64}};
    for (const Format format : {Format::nvfp4, Format::mxfp8_e4m3}) {
      QuantizedTensor out{.type = {.format = format}, .shape = x.shape};
      std::vector<std::uint8_t> memory(2 * 64 * 64 * 2);
      float amaxes[2] = {};
      std::size_t at = 0;
      for (QuantizedSide* side : {&out.rowwise, &out.columnwise}) {
        *side = side == &out.rowwise ? out.rowwise_sizes().value() : out.columnwise_sizes().value();
        if (rows > 0) side->data = &memory[at], side->scale = &memory[at + 64 * 64];
        if (format == Format::nvfp4) side->amax = &amaxes[side == &out.columnwise];
        at += 64 * 64 * 2;
      }
      const auto done = format == Format::nvfp4
                            ? quantize_nvfp4(*runtime, x, out, {.device = device_})
                            : quantize_mx(*runtime, x, out, {.device = device_});
      EXPECT_TRUE(done) << rows << done.error().message();
    }
  }
}

TEST_F(EmptyMatrices, OfAGroupAreNoErrorAndTheirAmaxesAreFound) {
  EmptyGroup a(2, 64, Format::nvfp4);
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  auto done = quantize_nvfp4_grouped(*test_runtime(), a.x(), a.group, options);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(a.amaxes, (std::vector<float>(4, 0.0f)));
  // Without amaxes there is nothing to write, and nothing to have been prepared for.
  QuantizedGroup bare = a.group;
  bare.whole.rowwise = bare.whole.columnwise = {};
  PreparedQuantizeNvfp4Grouped::Request of_both;
  of_both.sides = Sides::both;
  const auto op = PreparedQuantizeNvfp4Grouped::prepare(*test_runtime(), device_, of_both).value();
  EXPECT_TRUE(op.run(a.x(), bare, {}));
  EXPECT_TRUE(quantize_nvfp4_grouped(*test_runtime(), a.x(), bare, options));
  const QuantizedPair pairs[] = {{a.x(), {.shape = a.group.whole.shape}}};
  EXPECT_TRUE(op.run(TensorGroup{pairs, a.descriptors.data()}, {}));
  EmptyGroup mx(2, 64, Format::mxfp8_e4m3);
  QuantizeMxGroupedOptions of_mx;
  of_mx.device = device_;
  done = quantize_mx_grouped(*test_runtime(), mx.x(), mx.group, of_mx);
  EXPECT_TRUE(done) << done.error().message();
  const PreparedQuantizeMx::Request both{.sides = Sides::both};
  const auto prepared = PreparedQuantizeMx::prepare(*test_runtime(), device_, both).value();
  EXPECT_TRUE(prepared.run(mx.x(), mx.group.member(0).value(), {}));
}

// Weight gradients of experts of which none had a token are zeros.
TEST_F(EmptyMatrices, OfAllExpertsHaveAProductOfZeros) {
  for (const bool on_device : {false, true}) {
    EmptyGroup a(2, 32, Format::nvfp4), b(2, 16, Format::nvfp4);
    for (EmptyGroup* each : {&a, &b}) {
      if (on_device) {
        QuantizeNvfp4GroupedOptions options;
        options.device = device_;
        ASSERT_TRUE(quantize_nvfp4_grouped(*test_runtime(), each->x(), each->group, options));
      } else {
        ASSERT_TRUE(each->group.describe(nullptr, each->descriptors.data()));
      }
    }
    std::vector<float> product(2 * 32 * 16, 5.0f);
    const Tensor out{product.data(), DType::f32, Shape{2 * 32, 16}};
    GemmNvfp4Options options;
    options.layout = "NT", options.device = device_;
    const auto done = gemm_nvfp4_grouped(*test_runtime(), a.group, b.group, out, options);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(product, std::vector<float>(product.size(), 0.0f));
  }
}

// A weight of a rank that has none of it: its transpose has the same amax.
TEST_F(EmptyMatrices, OfWeightsHaveTheirAmaxOnBothSides) {
  float amaxes[] = {7, 9};
  QuantizedTensor weight{.type = {.square = true}, .shape = Shape{0, 32}};
  weight.rowwise = weight.rowwise_sizes().value();
  weight.columnwise = weight.columnwise_sizes().value();
  weight.rowwise.amax = &amaxes[0], weight.columnwise.amax = &amaxes[1];
  const auto done = post_all_gather_processing(*test_runtime(), {&weight, 1}, {.device = device_});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(amaxes[1], 7);
  amaxes[1] = 9;
  ASSERT_TRUE(transpose_nvfp4(*test_runtime(), weight, {.device = device_}));
  EXPECT_EQ(amaxes[1], 7);
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
