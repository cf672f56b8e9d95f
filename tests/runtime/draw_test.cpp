// What a tuner draws: data whose sums show in which order they were made.
#include <diecast/runtime/tuning/draw.h>
#include <diecast/runtime/tuning/elements.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace diecast {
namespace {

std::vector<double> numbers(const DrawnTensor& tensor, std::uint64_t draw) {
  const Bytes bytes = drawn(tensor, draw);
  std::vector<double> out;
  for (std::size_t i = 0; i < bytes.size() * 8 / static_cast<std::size_t>(dtype_bits(tensor.type));
       ++i)
    out.push_back(float_value(tensor.type, element_bits(tensor.type, bytes, i)));
  return out;
}

// Rows, columns, and rows of products cancel: in f64 these sums are exact.
TEST(Draw, OfTheSecondKindSumsToNothing) {
  const DrawnTensor x{.type = DType::bf16, .rows = 16, .cols = 48};
  const DrawnTensor w{.type = DType::bf16, .rows = 1, .cols = 48, .place = 1};
  const auto of_x = numbers(x, 1), of_w = numbers(w, 1);
  ASSERT_EQ(of_x.size(), 16u * 48);
  for (std::size_t row = 0; row < 16; ++row) {
    double sum = 0, products = 0, sizes = 0;
    for (std::size_t i = 0; i < 48; ++i) {
      sum += of_x[row * 48 + i];
      sizes += std::fabs(of_x[row * 48 + i]);
      products += of_x[row * 48 + i] * of_w[i];
    }
    EXPECT_EQ(sum, 0) << row;
    EXPECT_GT(sizes, 1) << row;
    EXPECT_EQ(products, 0) << row;
  }
  for (std::size_t col = 0; col < 48; ++col) {
    double sum = 0;
    for (std::size_t row = 0; row < 16; ++row) sum += of_x[row * 48 + col];
    EXPECT_EQ(sum, 0) << col;
  }
}

// Rounded to the type, the sum of squares is another as soon as anything is added to the largest.
TEST(Draw, OfTheThirdKindSumsSquaresBesideAMidpoint) {
  for (const auto& [type, bits] : {std::pair{DType::bf16, 8}, {DType::f16, 11}}) {
    const DrawnTensor x{.type = type, .rows = 64, .cols = 32, .largest = true};
    const auto all = numbers(x, 2);
    int with_small = 0;
    for (std::size_t row = 0; row < 64; ++row) {
      double largest = 0, small = 0;
      for (std::size_t i = 0; i < 32; ++i) {
        const double square = all[row * 32 + i] * all[row * 32 + i];
        if (square > 1) {
          EXPECT_EQ(largest, 0) << row;
        }
        (square > 1 ? largest : small) += square;
      }
      int power = 0;
      const double steps = std::ldexp(std::frexp(largest, &power), bits);
      EXPECT_EQ(steps - std::floor(steps), 0.5) << row;
      EXPECT_LT(small, 1e-3) << row;
      with_small += small > 0;
    }
    EXPECT_GT(with_small, 32);
  }
}

TEST(Draw, LeavesAmaxesAboveAllData) {
  const DrawnTensor amax{.type = DType::f32, .rows = 1, .cols = 7, .data = false};
  for (std::uint64_t draw = 0; draw < 6; ++draw)
    for (const double one : numbers(amax, draw)) EXPECT_GE(one, 16) << draw;
}

TEST(Draw, TakesRowsOfAnyLength) {
  for (const std::int64_t rows : {0, 1, 9})
    for (const std::int64_t cols : {0, 1, 7, 8, 9, 33})
      for (std::uint64_t draw = 0; draw < 9; ++draw) {
        const DrawnTensor x{.type = DType::f64, .rows = rows, .cols = cols, .largest = true};
        EXPECT_EQ(drawn(x, draw).size(), static_cast<std::size_t>(rows * cols) * 8);
      }
  const DrawnTensor long_row{.type = DType::u8, .rows = 3, .cols = 5 << 20};
  EXPECT_EQ(drawn(long_row, 0).size(), kDrawnBytes);
  EXPECT_EQ(draws_for(0), 512u);
  EXPECT_EQ(draws_for(1 << 30), 3u);
}

}  // namespace
}  // namespace diecast
