// Element types, values and bindings: names, sizes and the one spelling.
#include <diecast/template/value.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace diecast {
namespace {

TEST(DType, EveryNameReadsBackToItsType) {
  ASSERT_EQ(dtype_names().size(), 14u);
  for (std::size_t i = 0; i < dtype_names().size(); ++i) {
    const auto type = parse_dtype(dtype_names()[i]);
    ASSERT_TRUE(type.has_value()) << dtype_names()[i];
    EXPECT_EQ(static_cast<std::size_t>(*type), i);
    EXPECT_EQ(dtype_name(*type), dtype_names()[i]);
  }
  EXPECT_FALSE(parse_dtype("F32").has_value());
  EXPECT_FALSE(parse_dtype("").has_value());
}

TEST(DType, BitsAreThoseOfTheStorage) {
  EXPECT_EQ(dtype_bits(DType::bf16), 16);
  EXPECT_EQ(dtype_bits(DType::f16), 16);
  EXPECT_EQ(dtype_bits(DType::f32), 32);
  EXPECT_EQ(dtype_bits(DType::e4m3), 8);
  EXPECT_EQ(dtype_bits(DType::e8m0), 8);
  EXPECT_EQ(dtype_bits(DType::u8), 8);
  EXPECT_EQ(dtype_bits(DType::i64), 64);
  EXPECT_EQ(dtype_bits(DType::f64), 64);
  EXPECT_EQ(dtype_bits(DType::i8), 8);
  EXPECT_EQ(dtype_bits(DType::u16), 16);
  EXPECT_EQ(dtype_bits(DType::u64), 64);
}

TEST(Value, HasOneSpelling) {
  EXPECT_EQ(Value::integer(4096).spelling(), "4096");
  EXPECT_EQ(Value::integer(-1).spelling(), "-1");
  EXPECT_EQ(Value::boolean(true).spelling(), "1");
  EXPECT_EQ(Value::boolean(false).spelling(), "0");
  EXPECT_EQ(Value::of(DType::bf16).spelling(), "bf16");
  EXPECT_EQ(Value::of(DType::i64).number, 9);
}

TEST(Value, OfAFloatIsItsShortestDecimal) {
  EXPECT_EQ(Value::real(7.0f).spelling(), "7");
  EXPECT_EQ(Value::real(0.1f).spelling(), "0.1");
  EXPECT_EQ(Value::real(1e-5f).spelling(), "1e-05");
  EXPECT_EQ(Value::real(-0.0f), Value::real(0.0f));
  EXPECT_EQ(cpp_real("7"), "7.0f");
  EXPECT_EQ(cpp_real("0.1"), "0.1f");
  EXPECT_EQ(cpp_real("1e-05"), "1e-05f");
}

TEST(Value, OfAFloatReadsBackToItself) {
  EXPECT_EQ(parse_real("7.0"), Value::real(7.0f));
  EXPECT_EQ(parse_real("1e-5"), Value::real(1e-5f));
  for (const char* none : {"", "x", "7.0f", "1e99", "-1e99", "inf", "nan", "0x1p3", "1 "})
    EXPECT_FALSE(parse_real(none).has_value()) << none;
  std::mt19937 random(3);
  for (int i = 0; i < 10000; ++i) {
    const float drawn = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(drawn)) continue;
    EXPECT_EQ(parse_real(Value::real(drawn).spelling()), Value::real(drawn)) << drawn;
  }
}

TEST(Bindings, ALaterValueReplacesAnEarlierOneInPlace) {
  Bindings bindings;
  bindings.set("A", 1).set("B", true).set("A", DType::f16);
  ASSERT_EQ(bindings.entries().size(), 2u);
  EXPECT_EQ(bindings.entries()[0].first, "A");
  EXPECT_EQ(*bindings.find("A"), Value::of(DType::f16));
  EXPECT_EQ(*bindings.find("B"), Value::boolean(true));
  EXPECT_EQ(bindings.find("C"), nullptr);
}

TEST(Bindings, TextIsAWordAndNotABoolean) {
  Bindings bindings;
  bindings.set("A", "true").set("B", std::string_view("bf16"));
  EXPECT_EQ(bindings.find("A")->word, "true");
  EXPECT_EQ(bindings.find("B")->word, "bf16");
}

TEST(Bindings, AListWithARepeatedNameKeepsTheLast) {
  const Bindings bindings{{"A", Value::integer(1)}, {"A", Value::integer(2)}};
  ASSERT_EQ(bindings.entries().size(), 1u);
  EXPECT_EQ(bindings.find("A")->number, 2);
}

}  // namespace
}  // namespace diecast
