// What a row of `linear` depends on, on a GPU: itself alone. Every number of rows up to 300, both
// sides of every boundary of the table, rows in another order; and sums that are exact, or within
// the bound that PROFILES.md states.
#include <diecast/diecast.h>
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"
#include "ops/linear/drawn_layer.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;
using Words = std::vector<std::uint16_t>;

constexpr std::int64_t kCols = 200;

class LinearRowsOnGpu : public GpuDeviceTest {
 protected:
  // Sums of the first rows of x, as floats.
  std::vector<float> sums(const DrawnLayer& layer, const DeviceBuffer& packed,
                          const DeviceBuffer& x, std::int64_t rows, int split = 0,
                          bool fast = false) const {
    const std::int64_t depth = layer.weight.cols, cols = layer.weight.rows;
    const float one = 1.0f;
    const DeviceBuffer factor(*device_, &one, sizeof one);
    const DeviceBuffer out(*device_, static_cast<std::size_t>(rows * cols) * 4);
    const auto made = linear(
        *test_runtime(), {.data = x.data_pointer(), .dtype = DType::bf16, .shape = {rows, depth}},
        {.shape = {cols, depth},
         .data = packed.data_pointer(),
         .bytes = static_cast<std::int64_t>(layer.packed.size())},
        reinterpret_cast<const float*>(factor.data_pointer()),
        {.data = out.data_pointer(), .dtype = DType::f32, .shape = {rows, cols}},
        {.split = split, .fast = fast, .device = device_});
    if (!made) ADD_FAILURE() << made.error().message();
    std::vector<float> all(static_cast<std::size_t>(rows * cols));
    std::memcpy(all.data(), out.bytes().data(), all.size() * 4);
    return all;
  }
  static bool same(const std::vector<float>& some, const std::vector<float>& all) {
    return std::memcmp(some.data(), all.data(), some.size() * 4) == 0;
  }
  DeviceBuffer placed(const Words& words) const {
    return {*device_, words.data(), words.size() * 2};
  }
  DeviceBuffer placed(const DrawnLayer& layer) const {
    return {*device_, layer.packed.data(), layer.packed.size()};
  }
};

TEST_F(LinearRowsOnGpu, AreTheSameInAnyNumberUpTo300) {
  for (const std::int64_t depth : {2048, 8192, 28672}) {
    const DrawnLayer layer(Format::nvfp4, kCols, depth, 300);
    const DeviceBuffer packed = placed(layer), x = placed(layer.x);
    const auto all = sums(layer, packed, x, 300);
    for (std::int64_t rows = 1; rows < 300; rows += depth == 2048 ? 1 : 13)
      ASSERT_TRUE(same(sums(layer, packed, x, rows), all)) << rows << " rows of " << depth;
  }
}

// Where another kernel serves.
TEST_F(LinearRowsOnGpu, AreTheSameOnBothSidesOfEveryBoundaryAndAlone) {
  constexpr std::int64_t kWide = 2112, kDepth = 2048, kRows = 8193;
  const DrawnLayer layer(Format::nvfp4, kWide, kDepth, kRows);
  const DeviceBuffer packed = placed(layer), x = placed(layer.x);
  for (const int split : {1, 2, 4, 8}) {
    const auto table = LinearRequest{.split = split}.table(device_->properties());
    const auto serving = [&](std::int64_t rows) {
      return soonest_of(table, {rows, kWide, kDepth});
    };
    const auto all = sums(layer, packed, x, kRows, split);
    for (std::int64_t rows = 1; rows < kRows; ++rows) {
      if (serving(rows) != serving(rows - 1) || serving(rows) != serving(rows + 1)) {
        ASSERT_TRUE(same(sums(layer, packed, x, rows, split), all)) << rows << ", " << split;
      }
    }
    for (std::int64_t row = 0; row < kRows; row += 1021) {
      const auto begin = layer.x.begin() + row * kDepth;
      const DeviceBuffer one = placed(Words(begin, begin + kDepth));
      const std::vector<float> in_all(all.begin() + row * kWide, all.begin() + (row + 1) * kWide);
      ASSERT_TRUE(same(sums(layer, packed, one, 1, split), in_all)) << row << ", " << split;
    }
  }
}

// Of Hopper: few rows have the bits of a weight in parts, many those of one part.
TEST_F(LinearRowsOnGpu, IfFastHaveTheBitsOfAllPartsOrOfOne) {
  if (device_->properties().cc != 90) GTEST_SKIP() << "kernels in one part are of Hopper alone";
  constexpr std::int64_t kWide = 2112, kDepth = 2048, kRows = 8193;
  const DrawnLayer layer(Format::nvfp4, kWide, kDepth, kRows);
  const DeviceBuffer packed = placed(layer), x = placed(layer.x);
  const auto table = LinearRequest{.split = 4, .fast = true}.table(device_->properties());
  std::set<std::int64_t> seen;
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{64}, kRows}) {
    const LinearKernel& serving = table[soonest_of(table, {rows, kWide, kDepth})];
    const std::int64_t split = serving.wanted.fields.find("SPLIT")->number;
    seen.insert(split);
    const auto all = sums(layer, packed, x, rows, static_cast<int>(split));
    EXPECT_TRUE(same(sums(layer, packed, x, rows, 4, true), all)) << rows << ", " << split;
  }
  EXPECT_EQ(seen, (std::set<std::int64_t>{1, 4}));
}

TEST_F(LinearRowsOnGpu, AreTheSameInAnotherOrder) {
  constexpr std::int64_t kDepth = 2112, kRows = 300;
  const DrawnLayer layer(Format::nvfp4, kCols, kDepth, kRows);
  const DeviceBuffer packed = placed(layer), x = placed(layer.x);
  Words turned;
  for (std::int64_t row = kRows - 1; row >= 0; --row)
    turned.insert(turned.end(), layer.x.begin() + row * kDepth,
                  layer.x.begin() + (row + 1) * kDepth);
  const DeviceBuffer other = placed(turned);
  for (const std::int64_t rows : {7, 16, 31, 64, 200, 300}) {
    const auto all = sums(layer, packed, x, kRows), some = sums(layer, packed, other, rows);
    for (std::int64_t row = 0; row < rows; ++row)
      ASSERT_EQ(
          std::memcmp(some.data() + row * kCols, all.data() + (kRows - 1 - row) * kCols, kCols * 4),
          0)
          << row << " of " << rows;
  }
}

// Weights of 0 to 24, x of -8 to 8.
TEST_F(LinearRowsOnGpu, OfIntegersHaveExactSums) {
  constexpr std::int64_t kDepth = 2112, kRows = 300;
  DrawnLayer layer(Format::nvfp4, kCols, kDepth, kRows);
  for (auto& scale : layer.weight.scales) scale = scale % 2 == 0 ? 0x40 : 0x48;  // 2, 4
  layer.packed = reference::pack_linear(layer.weight, Gated::none).bytes;
  for (auto& word : layer.x)
    word = reference::encode_bf16(static_cast<float>(static_cast<int>(word % 17) - 8));
  const DeviceBuffer packed = placed(layer), x = placed(layer.x);
  for (const std::int64_t rows : {1, 9, 17, 33, 65, 300}) {
    const auto some = sums(layer, packed, x, rows);
    for (std::int64_t i = 0; i < rows * kCols; i += rows < 33 ? 1 : 97) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < kDepth; ++k) {
        const float number =
            reference::decode_bf16(layer.x[static_cast<std::size_t>(i / kCols * kDepth + k)]);
        sum += static_cast<std::int64_t>(number) *
               static_cast<std::int64_t>(layer.weight.value(i % kCols, k));
      }
      ASSERT_EQ(some[static_cast<std::size_t>(i)], static_cast<float>(sum)) << i << " of " << rows;
    }
  }
}

// Numbers of all magnitudes; two that nearly cancel; a huge one among small ones.
TEST_F(LinearRowsOnGpu, AreWithinTheBoundOfTheExactSum) {
  constexpr std::int64_t kDepth = 4096, kRows = 300;
  DrawnLayer layer(Format::nvfp4, kCols, kDepth, kRows);
  for (std::int64_t row = 0; row < kRows; row += 3) {
    const auto at = static_cast<std::size_t>(row * kDepth);
    layer.x[at + 5] = reference::encode_bf16(1e6f),
                 layer.x[at + 4000] = reference::encode_bf16(-1e6f);
    layer.x[at + static_cast<std::size_t>(kDepth) + 77] = reference::encode_bf16(3e7f);
  }
  const DeviceBuffer packed = placed(layer), x = placed(layer.x);
  const int split = linear_split(kCols, kDepth);
  for (const std::int64_t rows : {3, 12, 30, 60, 200, 300}) {
    const auto some = sums(layer, packed, x, rows);
    for (std::int64_t i = 0; i < rows * kCols; i += rows < 30 ? 7 : 293) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < kDepth; ++k) {
        const double product = double{reference::decode_bf16(
                                   layer.x[static_cast<std::size_t>(i / kCols * kDepth + k)])} *
                               layer.weight.value(i % kCols, k);
        sum += product, magnitude += std::abs(product);
      }
      const double bound = (kDepth / 16 + split + 4) * 0x1p-22 * magnitude;
      ASSERT_LE(std::abs(some[static_cast<std::size_t>(i)] - sum), bound) << i << " of " << rows;
    }
  }
}

}  // namespace
}  // namespace diecast
