// Shapes and views, with sizes up to the last of 63 bits.
#include <diecast/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace diecast {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Shape, FlattensLeadingDimensionsToRows) {
  const Shape shape{3, 128, 64};
  EXPECT_EQ(shape.rows(), 384);
  EXPECT_EQ(shape.cols(), 64);
  EXPECT_EQ(shape.elements().value(), 384 * 64);
  EXPECT_EQ(shape.text(), "[3, 128, 64]");
}

TEST(Shape, OfRankZeroIsOneElementAndOfRankOneIsOneRow) {
  EXPECT_EQ(Shape{}.rows(), 1);
  EXPECT_EQ(Shape{}.cols(), 1);
  EXPECT_EQ(Shape{}.elements().value(), 1);
  EXPECT_EQ(Shape{}.text(), "[]");
  const Shape vector{7};
  EXPECT_EQ(vector.rows(), 1);
  EXPECT_EQ(vector.cols(), 7);
  EXPECT_EQ(vector.elements().value(), 7);
}

TEST(Shape, ComparesByRankAndDimensions) {
  const std::vector<std::int64_t> dimensions = {3, 128, 64};
  EXPECT_EQ(Shape(dimensions), (Shape{3, 128, 64}));
  EXPECT_NE((Shape{1, 64}), (Shape{64}));
  EXPECT_NE((Shape{2, 64}), (Shape{64, 2}));
}

TEST(Shape, HoldsProductsUpTo63Bits) {
  const Shape largest{kMax, 1, 1};
  EXPECT_EQ(largest.elements().value(), kMax);
  EXPECT_EQ(largest.rows(), kMax);
  EXPECT_EQ((Shape{std::int64_t{1} << 31, (std::int64_t{1} << 31) + 1}).elements().value(),
            (std::int64_t{1} << 62) + (std::int64_t{1} << 31));
}

TEST(Shape, RefusesMoreElementsThanFitIn63Bits) {
  EXPECT_EQ((Shape{std::int64_t{1} << 32, std::int64_t{1} << 31}).elements().error().message(),
            "diecast: shape_mismatch: shape [4294967296, 2147483648] has more elements than fit in "
            "63 bits\n  fix: split the tensor into smaller ones");
}

TEST(Shape, RefusesHugeDimensionsBesideAZeroBecauseRowsWouldOverflow) {
  const Shape shape{kMax, kMax, 0};
  EXPECT_EQ(shape.rows(), kMax);
  EXPECT_EQ(shape.elements().error().code, ErrorCode::shape_mismatch);
  EXPECT_EQ((Shape{0, kMax}).elements().value(), 0);
}

TEST(Shape, RefusesNegativeDimensions) {
  EXPECT_EQ((Shape{4, -1, 16}).elements().error().message(),
            "diecast: shape_mismatch: dimension 1 of shape [4, -1, 16] is negative\n"
            "  fix: every dimension is 0 or more");
}

TEST(Shape, RefusesMoreThanEightDimensions) {
  EXPECT_EQ((Shape{1, 1, 1, 1, 1, 1, 1, 2}).elements().value(), 2);
  const Shape shape{1, 1, 1, 1, 1, 1, 1, 2, 3, 4};
  EXPECT_EQ(shape.rows(), 1);
  EXPECT_EQ(shape.cols(), 2);
  EXPECT_EQ(shape.elements().error().message(),
            "diecast: shape_mismatch: shape [1, 1, 1, 1, 1, 1, 1, 2, ...] has more than 8 "
            "dimensions\n  fix: flatten leading dimensions until at most 8 are left");
}

TEST(CheckedProduct, IsNoneBeyond63Bits) {
  EXPECT_EQ(checked_product(0, kMax), 0);
  EXPECT_EQ(checked_product(kMax, 1), kMax);
  EXPECT_EQ(checked_product(kMax / 2, 2), kMax - 1);
  EXPECT_EQ(checked_product(kMax / 2 + 1, 2), std::nullopt);
}

alignas(16) float storage[64];

TEST(Tensor, DenseAndStridedViewsPass) {
  EXPECT_TRUE((Tensor{storage, DType::f32, {4, 16}}).check("x"));
  EXPECT_TRUE((Tensor{storage, DType::f32, {2, 8}, 32}).check("x"));
  EXPECT_TRUE((Tensor{storage, DType::bf16, {}}).check("x"));
  EXPECT_EQ((Tensor{storage, DType::f32, {4, 16}}).stride(), 16);
  EXPECT_EQ((Tensor{storage, DType::f32, {2, 8}, 32}).stride(), 32);
}

TEST(Tensor, WithoutElementsNeedsNoBuffer) {
  EXPECT_TRUE((Tensor{nullptr, DType::f32, {0, 16}}).check("x"));
  EXPECT_TRUE((Tensor{nullptr, DType::f32, {16, 0}}).check("x"));
}

TEST(Tensor, NamesANullBuffer) {
  EXPECT_EQ((Tensor{nullptr, DType::bf16, {4, 16}}).check("x").error().message(),
            "diecast: missing_buffer: x: the address of a [4, 16] bf16 tensor is null\n"
            "  fix: pass the address of the first element of x");
  EXPECT_EQ((Tensor{nullptr, DType::bf16, {4, 16}}).check("an_op: out").error().fix,
            "pass the address of the first element of out");
}

TEST(Tensor, NamesAStrideSmallerThanARow) {
  EXPECT_EQ((Tensor{storage, DType::f32, {4, 16}, 15}).check("x").error().message(),
            "diecast: shape_mismatch: x: row_stride 15 is smaller than a row of 16 elements\n"
            "  fix: row_stride = 0 for a dense tensor, else at least 16");
  EXPECT_EQ((Tensor{storage, DType::f32, {4, 16}, -16}).check("x").error().code,
            ErrorCode::shape_mismatch);
}

TEST(Tensor, NamesAMisalignedAddress) {
  char* bytes = reinterpret_cast<char*>(storage);
  EXPECT_EQ((Tensor{bytes + 2, DType::f32, {4, 4}}).check("x").error().message(),
            "diecast: misaligned: x: the address lies 2 past a multiple of 4, the bytes of one "
            "f32\n  fix: align x to 4 bytes");
  EXPECT_TRUE((Tensor{bytes + 2, DType::bf16, {4, 4}}).check("x"));
  EXPECT_TRUE((Tensor{bytes + 1, DType::u8, {4, 4}}).check("x"));
}

TEST(Tensor, PassesAShapesErrorOnUnderItsName) {
  EXPECT_EQ((Tensor{storage, DType::f32, {-4, 4}}).check("weight").error().message(),
            "diecast: shape_mismatch: weight: dimension 0 of shape [-4, 4] is negative\n"
            "  fix: every dimension is 0 or more");
}

TEST(Tensor, RefusesSpansBeyond63Bits) {
  EXPECT_EQ((Tensor{storage, DType::f32, {3, 16}, kMax / 2}).check("x").error().message(),
            "diecast: shape_mismatch: x: [3, 16] f32 with row_stride 4611686018427387903 spans "
            "more bytes than fit in 63 bits\n"
            "  fix: row_stride counts elements from one row to the next");
  EXPECT_TRUE((Tensor{storage, DType::u8, {1, 16}, kMax}).check("x"));
  EXPECT_TRUE((Tensor{storage, DType::u8, {2, 16}, kMax - 16}).check("x"));
  EXPECT_FALSE((Tensor{storage, DType::u8, {2, 16}, kMax - 15}).check("x"));
  EXPECT_FALSE((Tensor{storage, DType::bf16, {2, 16}, kMax - 16}).check("x"));
}

}  // namespace
}  // namespace diecast
