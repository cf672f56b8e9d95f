// Two files made here, compared by figures worked out by hand.
#include <checkpoint/checkpoint_files.h>
#include <checkpoint/scalar_kernels.h>
#include <diecast/checkpoint/compare.h>
#include <diecast/checkpoint/floats.h>
#include <gtest/gtest.h>
#include <temporary_directory.h>

#include <limits>

namespace diecast {
namespace {

using testing::encode;
using testing::floats;
using testing::TemporaryDirectory;
using testing::TestFile;
using testing::TestTensor;
using testing::write_text;

Result<Comparison> compared(
    const std::map<std::string, TestTensor>& first, const std::map<std::string, TestTensor>& second,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress = {}) {
  TemporaryDirectory folder;
  write_text(folder / "a", encode({first, {}}));
  write_text(folder / "b", encode({second, {}}));
  DIECAST_TRY(const Checkpoint a, Checkpoint::open(folder / "a"));
  DIECAST_TRY(const Checkpoint b, Checkpoint::open(folder / "b"));
  return compare(a, b, progress);
}

TensorComparison one(const TestTensor& first, const TestTensor& second) {
  return compared({{"t", first}}, {{"t", second}}).value().tensors.at(0);
}

TestTensor half(const std::string& dtype, const std::vector<std::uint16_t>& words) {
  return {dtype,
          {words.size()},
          std::string(reinterpret_cast<const char*>(words.data()), words.size() * 2)};
}

TEST(Compare, FiguresAreLargestAndMeanErrorAndSignalToNoise) {
  const TensorComparison result =
      one(floats({2, 2}, {3, -4, 0, 5}), floats({2, 2}, {3, -4.5f, 0.25f, 5}));
  EXPECT_EQ(result.kind, Comparability::values);
  EXPECT_FALSE(result.identical);
  EXPECT_EQ(result.figures.elements, 4u);
  EXPECT_EQ(result.figures.largest, 0.5);
  EXPECT_EQ(result.figures.mean(), 0.75 / 4);
  EXPECT_DOUBLE_EQ(result.figures.decibels(), 10 * std::log10(50 / 0.3125));
}

TEST(Compare, EqualTensorsHaveNoNoise) {
  const TensorComparison result = one(floats({2}, {1, 2}), floats({2}, {1, 2}));
  EXPECT_TRUE(result.identical);
  EXPECT_EQ(result.figures.decibels(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(compared({{"t", floats({0}, {})}}, {{"t", floats({0}, {})}}).value().identical());
}

TEST(Compare, SignOfZeroIsNoErrorButNotIdentical) {
  const TensorComparison result = one(floats({1}, {0.0f}), floats({1}, {-0.0f}));
  EXPECT_FALSE(result.identical);
  EXPECT_EQ(result.figures.largest, 0);
}

TEST(Compare, FloatingPointTypesCompareByValue) {
  const TensorComparison result =
      one(half("BF16", {0x3F80, 0xC000}), half("F16", {0x3C00, 0xC200}));  // 1 -2, 1 -3
  EXPECT_EQ(result.kind, Comparability::values);
  EXPECT_FALSE(result.identical);
  EXPECT_EQ(result.figures.largest, 1);
  EXPECT_EQ(result.figures.signal, 5);
}

TEST(Compare, NonfiniteValuesAreCountedAndLeftOut) {
  const float infinity = std::numeric_limits<float>::infinity();
  const TensorComparison result =
      one(floats({4}, {1, infinity, 2, std::nanf("")}), floats({4}, {1, infinity, -infinity, 0}));
  EXPECT_EQ(result.figures.nonfinite, 3u);
  EXPECT_EQ(result.figures.elements, 1u);
  EXPECT_EQ(result.figures.largest, 0);
}

TEST(Compare, WhatDoesNotCompareIsReportedAndGoesIntoNoTotal) {
  const auto result = compared({{"a", floats({2}, {1, 2})},
                                {"b", floats({2}, {1, 2})},
                                {"c", floats({1}, {1})},
                                {"q", floats({2}, {1, 2})}},
                               {{"b", floats({1, 2}, {1, 2})},
                                {"c", floats({1}, {3})},
                                {"d", {"U8", {1}, "x"}},
                                {"q", {"U8", {1}, "x"}}})
                          .value();
  std::string text;
  for (const TensorComparison& tensor : result.tensors)
    text += tensor.name + ": " + tensor.remark + "\n";
  EXPECT_EQ(text,
            "a: only in the first: F32 [2]\n"
            "b: F32 [2] and F32 [1, 2]\n"
            "c: \n"
            "d: only in the second: U8 [1]\n"
            "q: F32 [2] and U8 [1]\n");
  EXPECT_EQ(result.total.elements, 1u);
  EXPECT_EQ(result.total.largest, 2);
  EXPECT_FALSE(result.identical());
}

TEST(Compare, OtherTypesAreEqualOrNot) {
  EXPECT_EQ(one({"I64", {1}, "01234567"}, {"I64", {1}, "01234567"}).remark, "the same bytes");
  EXPECT_EQ(one({"I64", {1}, "01234567"}, {"I64", {1}, "01234568"}).remark, "other bytes");
  EXPECT_EQ(one({"F4", {4}, "01"}, {"F4", {4}, "11"}).kind, Comparability::bytes);
  EXPECT_FALSE(one({"F4", {4}, "01"}, {"F4", {4}, "11"}).identical);
}

TEST(Compare, TensorsOfManyPiecesAddUp) {
  const std::uint64_t size = (1 << 20) * 2 + 3;
  std::vector<float> first(size, 1), second(size, 1);
  second[0] = 2, second[1 << 20] = 3, second[size - 1] = 5;
  std::uint64_t done = 0, total = 0;
  const auto result = compared({{"t", floats({size}, first)}}, {{"t", floats({size}, second)}},
                               [&](std::uint64_t now, std::uint64_t all) {
                                 EXPECT_GT(now, done);
                                 done = now, total = all;
                               })
                          .value();
  EXPECT_EQ(result.total.elements, size);
  EXPECT_EQ(result.total.largest, 4);
  EXPECT_EQ(result.total.sum, 7);
  EXPECT_EQ(result.total.noise, 1 + 4 + 16);
  EXPECT_EQ(done, size * 8);
  EXPECT_EQ(total, done);
}

TEST(Floats, EveryHalfWidensToItsValue) {
  for (const auto& [type, exponent] : {std::pair{DType::f16, 5u}, std::pair{DType::bf16, 8u}}) {
    std::vector<std::uint16_t> words(65536);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(i);
    std::vector<float> wide;
    widen(std::as_bytes(std::span(words)), type, wide);
    ASSERT_EQ(wide.size(), words.size());
    std::uint64_t nan = 0, infinite = 0;
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const double expected = testing::float_of(exponent, 15 - exponent, i);
      nan += std::isnan(expected);
      infinite += std::isinf(expected);
      ASSERT_EQ(std::isnan(wide[i]), std::isnan(expected)) << i;
      if (std::isnan(expected)) continue;
      ASSERT_EQ(wide[i], expected) << i;
      ASSERT_EQ(std::signbit(wide[i]), std::signbit(expected)) << i;
    }
    const Nonfinite found = count_nonfinite(std::as_bytes(std::span(words)), type);
    EXPECT_EQ(found.nan, nan);
    EXPECT_EQ(found.infinite, infinite);
  }
}

// In whole blocks and behind them, with NaN and infinity around and without.
TEST(Floats, OneScanFindsTheLargestMagnitude) {
  std::vector<float> values(5000, -1.5f);
  const auto largest = [&] {
    return scan_floats(std::as_bytes(std::span(values)), DType::f32).largest;
  };
  EXPECT_EQ(largest(), 1.5f);
  values[4999] = -2.0f;
  EXPECT_EQ(largest(), 2.0f);
  values[17] = 3.0f;
  EXPECT_EQ(largest(), 3.0f);
  values[18] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(largest(), 3.0f);
  values[4998] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(largest(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(scan_floats({}, DType::f32).largest, 0.0f);
  const std::vector<std::uint16_t> halves = {0x0001, 0x8400, 0x7E00};  // 2^-24, -2^-14, NaN
  EXPECT_EQ(scan_floats(std::as_bytes(std::span(halves)), DType::f16).largest, 0x1p-14f);
  EXPECT_EQ(scan_floats(std::as_bytes(std::span(halves)), DType::bf16).largest, 0x1p125f);
}

}  // namespace
}  // namespace diecast
