// Elements as text, and how far they are apart.
#include <diecast/runtime/tuning/elements.h>
#include <gtest/gtest.h>

#include <bit>

namespace diecast {
namespace {

TEST(Elements, AreTheShortestTextThatSaysWhichTheyAre) {
  EXPECT_EQ(element_text(DType::bf16, 0x3F80), "1");
  EXPECT_EQ(element_text(DType::bf16, 0xBDCD), "-0.100097656");
  EXPECT_EQ(element_text(DType::f16, 0x2E66), "0.099975586");
  EXPECT_EQ(element_text(DType::f32, std::bit_cast<std::uint32_t>(0.1f)), "0.1");
  EXPECT_EQ(element_text(DType::f64, std::bit_cast<std::uint64_t>(0.1)), "0.1");
  EXPECT_EQ(element_text(DType::e4m3, 0x7E), "448");
  EXPECT_EQ(element_text(DType::e4m3, 0xFF), "nan");
  EXPECT_EQ(element_text(DType::e5m2, 0x7B), "57344");
  EXPECT_EQ(element_text(DType::e5m2, 0xFC), "-inf");
  EXPECT_EQ(element_text(DType::e8m0, 124), "0.125");
  EXPECT_EQ(element_text(DType::e8m0, 255), "nan");
  EXPECT_EQ(element_text(DType::i8, 0xFE), "-2");
  EXPECT_EQ(element_text(DType::u8, 0xFE), "254");
  EXPECT_EQ(element_text(DType::i64, ~std::uint64_t{0}), "-1");
  EXPECT_EQ(element_text(DType::u64, ~std::uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(element_text(DType::f16, 1), "5.9604645e-08");  // subnormal
}

TEST(Elements, AreAsFarApartAsTheirTypeHasValuesBetween) {
  EXPECT_EQ(steps_between(DType::f32, std::bit_cast<std::uint32_t>(1.0f),
                          std::bit_cast<std::uint32_t>(1.0f) + 3),
            3u);
  EXPECT_EQ(steps_between(DType::bf16, 0x8001, 0x0001), 2u);  // across 0
  EXPECT_EQ(steps_between(DType::f16, 0x8000, 0x0000), 0u);   // -0 is 0
  EXPECT_EQ(steps_between(DType::f64, 0x8000000000000001, 0x7FEFFFFFFFFFFFFF),
            0x7FEFFFFFFFFFFFFF + 1u);
  EXPECT_EQ(steps_between(DType::i8, 0x80, 0x7F), 255u);
  EXPECT_EQ(steps_between(DType::u64, 0, ~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(steps_between(DType::u8, 250, 3), 247u);
}

TEST(Elements, OfABufferAreTakenByTheirWidth) {
  const Bytes bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{0xFF}};
  EXPECT_EQ(element_bits(DType::u16, bytes, 1), 0xFF03u);
  EXPECT_EQ(element_bits(DType::i8, bytes, 3), 0xFFu);
  EXPECT_TRUE(is_nan(DType::bf16, 0x7FC0));
  EXPECT_FALSE(is_nan(DType::e4m3, 0x7E));
  EXPECT_FALSE(is_nan(DType::i32, 0xFFFFFFFF));
}

}  // namespace
}  // namespace diecast
