// Element types, values and bindings: names, sizes and the one spelling.
#include <diecast/template/value.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

TEST(DType, EveryNameReadsBackToItsType) {
  ASSERT_EQ(dtype_names().size(), 10u);
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
}

TEST(Value, HasOneSpelling) {
  EXPECT_EQ(Value::integer(4096).spelling(), "4096");
  EXPECT_EQ(Value::integer(-1).spelling(), "-1");
  EXPECT_EQ(Value::boolean(true).spelling(), "1");
  EXPECT_EQ(Value::boolean(false).spelling(), "0");
  EXPECT_EQ(Value::of(DType::bf16).spelling(), "bf16");
  EXPECT_EQ(Value::of(DType::i64).number, 9);
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
