// Tensors and sizes that an op cannot take are refused, whatever ran before and before anything is
// written.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "ops/host_device_test.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

class RefusedTensors : public HostDeviceTest {
 protected:
  static std::string text(const Result<void>& result) {
    return result ? "done" : result.error().message();
  }
  std::array<float, 4 * 4096> values_ = {};
  Tensor x_{values_.data(), DType::f32, Shape{4, 4096}};
};

// Of 65552 the low 16 bits are 16.
TEST_F(RefusedTensors, ABlockBeyondSixteenBitsIsNoSmallerOne) {
  std::vector<float> result(1024);
  AmaxOptions options{.per = AmaxPer::block, .device = device_};
  ASSERT_TRUE(amax(*test_runtime(), x_, result.data(), options));
  for (const int block : {65552, -65520, 24}) {
    options.block = block;
    const auto refused = amax(*test_runtime(), x_, result.data(), options);
    ASSERT_FALSE(refused) << block;
    EXPECT_EQ(refused.error().code, ErrorCode::value_not_allowed) << block;
  }
}

TEST_F(RefusedTensors, AMisalignedAmaxIsNotWrittenTo) {
  alignas(8) std::array<std::uint8_t, 16> bytes;
  bytes.fill(0xAA);
  void* const odd = bytes.data() + 1;
  EXPECT_EQ(text(amax(*test_runtime(), x_, static_cast<float*>(odd), {.device = device_})),
            "diecast: misaligned: amax: the result is not at a multiple of 4 bytes\n"
            "  fix: allocate it as f32");
  EXPECT_EQ(std::ranges::count(bytes, 0xAA), 16);
}

// 272 has the low eight bits of 16, and the next of a flag.
TEST_F(RefusedTensors, APadBeyondEightBitsIsNoSmallerOne) {
  std::array<std::uint8_t, 2 * 16 / 2> from = {};
  std::array<std::uint8_t, 16 * 16 / 2> to = {};  // 16 rows of 2 codes, padded to 16
  const auto with = [&](int pad) {
    return transpose_codes(*test_runtime(), from.data(), 2, 16, pad, to.data(), {device_});
  };
  ASSERT_TRUE(with(16));
  for (const int pad : {272, -240, 0, -1}) {
    const auto refused = with(pad);
    ASSERT_FALSE(refused) << pad;
    EXPECT_EQ(refused.error().code, ErrorCode::value_not_allowed) << pad;
  }
}

// A word would be written where a byte is.
TEST_F(RefusedTensors, ASingleCodeIsNoWholeWord) {
  PreparedTransposeCodes::Request request;
  request.pad = 2, request.aligned = true;
  const auto op = PreparedTransposeCodes::prepare(*test_runtime(), device_, request).value();
  alignas(4) const std::array<std::uint8_t, 4> from = {};
  alignas(4) std::array<std::uint8_t, 4> to;
  to.fill(0xEE);
  const auto refused = op.run(from.data(), 1, 1, to.data(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::misaligned);
  EXPECT_EQ(std::ranges::count(to, 0xEE), 4);
}

// Before the codes are transposed, which know of no layout.
TEST_F(RefusedTensors, AMatrixWithScalesInAnotherLayoutThanThePreparedOneStaysAsItIs) {
  const auto op = PreparedTransposeNvfp4::prepare(*test_runtime(), device_, {}).value();
  alignas(16) std::array<std::uint8_t, 128> codes = {}, transposed = {};
  alignas(16) std::array<std::uint8_t, 512> scales = {}, of_columns = {};
  std::array<float, 2> amaxes = {1, 2};
  transposed.fill(0xEE);
  QuantizedTensor x{.type = {.layout = ScaleLayout::s128x4, .square = true},
                    .shape = Shape{16, 16}};
  x.rowwise = {codes.data(), scales.data(), &amaxes[0], 128, 512, 1};
  x.columnwise = {transposed.data(), of_columns.data(), &amaxes[1], 128, 512, 1};
  EXPECT_EQ(text(op.run(x, {})),
            "diecast: not_supported: transpose_nvfp4: prepared for layout = linear; x has layout "
            "= s128x4\n  fix: prepare another op for this input");
  EXPECT_EQ(std::ranges::count(transposed, 0xEE), 128);
}

TEST_F(RefusedTensors, AShapeOfMoreDimensionsThanThereAreHasNoPackedOne) {
  const auto packed = get_nvfp4_rowwise_packed_shape(Shape{2, 2, 2, 2, 2, 2, 2, 2, 32});
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().code, ErrorCode::shape_mismatch);
}

TEST_F(RefusedTensors, AWeightOfTooFewBytesIsNotMoved) {
  std::array<std::uint8_t, 64> data = {};
  std::array<std::uint8_t, 128> room = {};
  QuantizedTensor weight{.shape = Shape{16, 16}};
  weight.rowwise.data = data.data();
  weight.rowwise.data_bytes = 64;
  const Tensor storage{room.data(), DType::u8, Shape{128}};
  const auto moved = modify_nvfp4_rowwise_storage(*device_, weight, storage, {});
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::shape_mismatch);
  EXPECT_EQ(weight.rowwise.data, data.data());
}

// Rows that the device counts are left alone, or the tensor is refused.
TEST_F(RefusedTensors, WhoTakesEveryRowRefusesACountInDeviceMemory) {
  const std::int64_t one = 1;
  std::array<float, 64> from = {}, to = {}, amaxes = {};
  Tensor x{from.data(), DType::f32, Shape{4, 16}}, out{to.data(), DType::f32, Shape{4, 16}};
  const Tensor of_blocks{amaxes.data(), DType::f32, Shape{4}};
  Tensor counted = x, counted_out = out;
  counted.device_rows = counted_out.device_rows = &one;
  const auto refused = [&](const Result<void>& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::not_supported);
    EXPECT_NE(result.error().what.find("has a row count in device memory"), std::string::npos);
  };
  float global = 1;
  refused(static_blockwise_fp4_cast(*test_runtime(), counted, out, {device_}));
  refused(fp4_fake_quant_block(*test_runtime(), x, &global, counted_out, {16, device_}));
  Tensor counted_amaxes = of_blocks;
  counted_amaxes.device_rows = &one;
  const Fp4ScaleOptions options{.global_amax = &global, .device = device_};
  refused(compute_fp4_scales(*test_runtime(), counted_amaxes, of_blocks, options));
}

}  // namespace
}  // namespace diecast
