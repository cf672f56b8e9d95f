// Shards in bytes, bounds that share none, and Megatron's names.
#include <diecast/diecast.h>
#include <diecast/ops/weights/descriptor.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

TEST(ShardStorage, OfCodesIsInHalfBytes) {
  // The worked example of a [2, 16] matrix: elements 5 to 10.
  const ShardStorage shard = shard_storage(Format::nvfp4, 2, 16, {5, 11});
  EXPECT_EQ(shard.first_code, 5);
  EXPECT_EQ(shard.end_code, 11);
  EXPECT_EQ(shard.touched, (ShardRange{2, 6}));
  EXPECT_EQ(shard.sent, (ShardRange{3, 6}));
  EXPECT_TRUE(shard.begins_inside_byte);
  EXPECT_TRUE(shard.ends_inside_byte);
}

TEST(ShardStorage, OwnsThePaddingBehindItsLastElementOfARow) {
  const ShardStorage shard = shard_storage(Format::nvfp4, 3, 5, {0, 10});
  EXPECT_EQ(shard.end_code, 32);
  EXPECT_EQ(shard.sent, (ShardRange{0, 16}));
  EXPECT_EQ(shard_storage(Format::nvfp4, 3, 5, {10, 15}).sent, (ShardRange{16, 24}));
}

TEST(ShardStorage, OfBytesIsTheRangeItself) {
  const ShardStorage shard = shard_storage(Format::mxfp8_e4m3, 4, 32, {5, 11});
  EXPECT_EQ(shard.touched, (ShardRange{5, 11}));
  EXPECT_EQ(shard.sent, shard.touched);
  EXPECT_FALSE(shard.begins_inside_byte);
}

TEST(ShardStorage, SendsEveryByteOnceHoweverTheMatrixIsCut) {
  for (const std::int64_t cols : {5, 16, 33}) {
    const std::int64_t elements = 3 * cols, bytes = 3 * ((cols + 15) / 16 * 8);
    for (std::int64_t a = 0; a <= elements; ++a) {
      for (std::int64_t b = a; b <= elements; ++b) {
        std::int64_t next = 0;
        for (const ShardRange range :
             {ShardRange{0, a}, ShardRange{a, b}, ShardRange{b, elements}}) {
          const ShardStorage shard = shard_storage(Format::nvfp4, 3, cols, range);
          if (shard.sent.empty()) continue;
          ASSERT_EQ(shard.sent.begin, next) << cols << " " << a << " " << b;
          next = shard.sent.end;
        }
        ASSERT_EQ(next, bytes) << cols << " " << a << " " << b;
      }
    }
  }
}

TEST(EvenShardBounds, AreEvenBalancedAndWhole) {
  EXPECT_EQ(even_shard_bounds(1, 35, 3).value(), (std::vector<std::int64_t>{0, 12, 24, 35}));
  EXPECT_EQ(even_shard_bounds(3, 5, 4).value(), (std::vector<std::int64_t>{0, 4, 9, 12, 15}));
  EXPECT_EQ(even_shard_bounds(1, 2, 4).value(), (std::vector<std::int64_t>{0, 2, 2, 2, 2}));
  EXPECT_EQ(even_shard_bounds(0, 7, 2).value(), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(even_shard_bounds(7, 0, 2).value(), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(EvenShardBounds, ShareNoByteHoweverLongARowIs) {
  for (std::int64_t rows = 1; rows <= 6; ++rows) {
    for (std::int64_t cols = 1; cols <= 33; ++cols) {
      for (int ranks = 1; ranks <= 7; ++ranks) {
        const auto bounds = even_shard_bounds(rows, cols, ranks).value();
        ASSERT_EQ(bounds.size(), static_cast<std::size_t>(ranks) + 1);
        ASSERT_EQ(bounds.front(), 0);
        ASSERT_EQ(bounds.back(), rows * cols);
        std::int64_t least = rows * cols, most = 0;
        for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
          const ShardRange range{bounds[r], bounds[r + 1]};
          ASSERT_LE(range.begin, range.end);
          const ShardStorage shard = shard_storage(Format::nvfp4, rows, cols, range);
          ASSERT_FALSE(shard.begins_inside_byte || shard.ends_inside_byte) << rows << "x" << cols;
          least = std::min(least, range.end - range.begin);
          most = std::max(most, range.end - range.begin);
        }
        ASSERT_LE(most - least, cols % 2 == 0 ? 2 : 3) << rows << "x" << cols << " / " << ranks;
      }
    }
  }
}

TEST(EvenShardBounds, AreOfSomeElementsForSomeRanks) {
  EXPECT_EQ(even_shard_bounds(2, 4, 0).error().message(),
            "diecast: invalid_argument: a weight [2, 4] for 0 ranks\n"
            "  fix: rows and columns are 0 or more, ranks 1 or more");
  EXPECT_EQ(even_shard_bounds(-1, 4, 2).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(even_shard_bounds(std::int64_t{1} << 40, std::int64_t{1} << 40, 2).error().code,
            ErrorCode::invalid_argument);
}

TEST(WeightTable, NumbersNoMoreUnitsThanALaunchCan) {
  ShardedWeight huge;
  huge.weight.shape = {std::int64_t{1} << 34, 16};
  huge.weight.type.square = true;
  huge.shard = {0, std::int64_t{1} << 38};
  EXPECT_EQ(describe_weights({&huge, 1}).value().units[0], std::int64_t{1} << 30);
  const ShardedWeight twice[] = {huge, huge};
  EXPECT_EQ(describe_weights(twice).error().message(),
            "diecast: not_supported: the first 2 weights need 2147483648 units of work, a launch "
            "numbers 2^31 - 1\n  fix: cast the weights in several calls");
}

TEST(WeightDescriptor, IsWhatTheKernelsRead) {
  // Offsets as templates/device/groups/weights.h has them.
  EXPECT_EQ(sizeof(WeightDescriptor), 208u);
  EXPECT_EQ(offsetof(WeightDescriptor, cols), 96u);
  EXPECT_EQ(offsetof(WeightDescriptor, row_codes), 120u);
  EXPECT_EQ(offsetof(WeightDescriptor, first_tile), 144u);
  EXPECT_EQ(offsetof(WeightDescriptor, column_codes), 152u);
  EXPECT_EQ(offsetof(WeightDescriptor, scale_rows), 160u);
  EXPECT_EQ(offsetof(WeightDescriptor, unit_begin), 192u);
}

TEST(Megatron, HalvesTheLastDimension) {
  EXPECT_EQ(get_nvfp4_rowwise_packed_shape({3, 4, 6}).value(), (Shape{3, 4, 3}));
  EXPECT_EQ(get_nvfp4_rowwise_packed_shape({}).value(), Shape{});
  EXPECT_EQ(
      get_nvfp4_rowwise_packed_shape({3, 5}).error().message(),
      "diecast: shape_mismatch: shape [3, 5] has an odd last dimension, two codes make a byte\n"
      "  fix: pad the last dimension to 6");
}

TEST(Megatron, AlignsToWholeTilesUnlessToldTheReasonForLess) {
  EXPECT_EQ(get_fp4_align_size(), 128);
  EXPECT_EQ(get_fp4_align_size(Fp4Recipe::hadamard), 64);
  EXPECT_EQ(get_fp4_align_size(Fp4Recipe::gemm), 32);
}

TEST(Megatron, KnowsItsTensors) {
  QuantizedTensor tensor;
  EXPECT_TRUE(is_nvfp4tensor(tensor));
  tensor.type.format = Format::mxfp8_e4m3;
  EXPECT_FALSE(is_nvfp4tensor(tensor));
}

TEST(Megatron, AssertsThatElementsAndBytesArePartitionedAlike) {
  const PackedParameter good[] = {{0, 0}, {128, 64}}, shifted[] = {{0, 0}, {128, 128}};
  EXPECT_TRUE(check_packed_partition(16384, 8192, 4, good));
  // One 128x128 weight on six ranks: each buffer is padded for itself.
  EXPECT_EQ(
      check_packed_partition(16512, 8448, 6, good).error().message(),
      "diecast: shape_mismatch: the buffers have 16512 elements and 8448 bytes of packed codes, "
      "which is 16896 elements\n  fix: pad the packed buffer to 8256 bytes");
  EXPECT_EQ(check_packed_partition(16512, 8256, 384, good).error().message(),
            "diecast: shape_mismatch: 8256 bytes of packed codes for 384 ranks\n"
            "  fix: pad both buffers so that every rank has the same number of whole bytes");
  EXPECT_EQ(check_packed_partition(16384, 8192, 4, shifted).error().message(),
            "diecast: shape_mismatch: parameter 1 begins at element 128 and at byte 128, which is "
            "element 256\n  fix: pad both buffers alike: a byte holds two elements");
}

// Twice the bytes are the elements in 64 bits.
TEST(Megatron, BuffersOfSizesThatNoneHasAreNotPartitionedAlike) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 62, kLeast = 2 * -kHalf;
  EXPECT_EQ(check_packed_partition(kLeast, kHalf, 1, {}).error().message(),
            "diecast: shape_mismatch: buffers of -9223372036854775808 elements and "
            "4611686018427387904 bytes\n  fix: sizes are 0 or more");
  EXPECT_EQ(check_packed_partition(-4, -2, 2, {}).error().message(),
            "diecast: shape_mismatch: buffers of -4 elements and -2 bytes\n"
            "  fix: sizes are 0 or more");
  EXPECT_EQ(check_packed_partition(8, kHalf, 1, {}).error().message(),
            "diecast: shape_mismatch: the buffers have 8 elements and 4611686018427387904 bytes of "
            "packed codes, which is 9223372036854775808 elements\n"
            "  fix: pad the packed buffer to 4 bytes");
  const PackedParameter before[] = {{-4, -2}}, beyond[] = {{kLeast, kHalf}};
  EXPECT_EQ(check_packed_partition(8, 4, 1, before).error().message(),
            "diecast: shape_mismatch: parameter 0 begins at element -4 and at byte -2\n"
            "  fix: places in a buffer count from 0");
  EXPECT_EQ(check_packed_partition(8, 4, 1, beyond).error().code, ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace diecast
