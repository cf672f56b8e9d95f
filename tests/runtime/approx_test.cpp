// Tunes that say `approx`: how far results may be, what is chosen, where it shows.
#include <diecast/runtime/tuning/approx.h>
#include <diecast/runtime/tuning/choice.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/tuning_samples.h"

namespace diecast {
namespace {

using testing::record;

template <class T>
std::string wrong(DType type, const std::vector<T>& got, const std::vector<T>& standard) {
  BoundArgument tensor;
  tensor.name = "y";
  tensor.dtype = type;
  const auto bytes = [](const std::vector<T>& of) {
    return ByteSpan(reinterpret_cast<const std::byte*>(of.data()), of.size() * sizeof(T));
  };
  return beyond_approx(tensor, bytes(got), bytes(standard)).value_or("");
}
std::string wrong(const std::vector<float>& got, const std::vector<float>& standard) {
  return wrong(DType::f32, got, standard);
}

TEST(Approx, AllowsTwoStepsAndAShareOfTheLargest) {
  EXPECT_EQ(wrong({1.0f, 1000.0f}, {1.0f, 1000.0f}), "");
  EXPECT_EQ(wrong({1.0f, 1000.06f}, {1.0f, 1000.0f}), "");
  EXPECT_EQ(wrong({1.06f, 1000.0f}, {1.0f, 1000.0f}), "");
  EXPECT_EQ(wrong({1.0f, 1000.125f}, {1.0f, 1000.0f}), "y[1] is 1000.125, and 1000 by default");
  EXPECT_EQ(wrong({1.25f}, {1.0f}), "y[0] is 1.25, and 1 by default");
  // bf16: one step of 1 is 2^-7, so that two are 1.015625 and three are too far.
  using Codes = std::vector<std::uint16_t>;
  EXPECT_EQ(wrong(DType::bf16, Codes{0x3F82}, Codes{0x3F80}), "");
  EXPECT_NE(wrong(DType::bf16, Codes{0x3F83}, Codes{0x3F80}), "");
}

TEST(Approx, HasNaNWhereTheStandardHasIt) {
  EXPECT_EQ(wrong({NAN, -INFINITY}, {-NAN, -INFINITY}), "");
  EXPECT_NE(wrong({NAN}, {1.0f}), "");
  EXPECT_NE(wrong({1.0f}, {NAN}), "");
}

TEST(Approx, HasInfinityWhereTheStandardHasIt) {
  EXPECT_EQ(wrong({INFINITY, 1.0f}, {INFINITY, 1.0f}), "");
  EXPECT_NE(wrong({INFINITY, 1.0f}, {3e38f, 1.0f}), "");
  EXPECT_EQ(wrong({3.0f, 1.0f}, {INFINITY, 1.0f}), "y[0] is 3, and inf by default");
  EXPECT_EQ(wrong({INFINITY}, {-INFINITY}), "y[0] is inf, and -inf by default");
}

TEST(Approx, OfIntegersAndScalesIsNothing) {
  EXPECT_EQ(wrong(DType::i32, std::vector<int>{1 << 30}, std::vector<int>{(1 << 30) + 1}),
            "y[0] is another integer or scale");
  EXPECT_EQ(wrong(DType::e8m0, std::vector<std::uint8_t>{1}, std::vector<std::uint8_t>{2}),
            "y[0] is another integer or scale");
}

// The sample template whose compiled tune says so.
std::shared_ptr<const Template> with(const std::string& said) {
  std::string text = testing::kTunedText;
  text.replace(text.find("= 64"), 4, "= 64 " + said);
  return Template::parse("k", text).value();
}

TEST(Approx, IsOneValueForAllSizesUnlessItGoesBySizes) {
  const std::vector<TuningRecord> records = {
      record("THREADS=64 waves=4", 10, 1), record("THREADS=128 waves=4", 11, 1),
      record("THREADS=64 waves=4", 900, 8192), record("THREADS=128 waves=4", 300, 8192)};
  const auto threads = [&](const std::string& said) {
    std::string out;
    for (const TunedPoint& point : tuned_points(*with(said), records, {}))
      out += point.tunes.find("THREADS")->spelling() + " ";
    return out;
  };
  EXPECT_EQ(threads(""), "64 128 ");
  EXPECT_EQ(threads("approx"), "128 128 ");
  EXPECT_EQ(threads("approx by sizes"), "64 128 ");
}

TEST(Approx, ShowsInTheTextOfAChoice) {
  const std::vector<TuningRecord> records = {record("THREADS=128 waves=4", 10)};
  const auto tmpl = with("approx");
  EXPECT_EQ(choose_tunes(*tmpl, records, {}).text(*tmpl),
            " THREADS=128 approx; rows=512 cols=4096: waves=4");
}

}  // namespace
}  // namespace diecast
