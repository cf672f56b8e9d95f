// The reference's conversions: value tables, ties, and a second formulation of each.
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>
#include <ops/second_formulations.h>

#include <cfloat>
#include <functional>
#include <random>

namespace diecast::reference {
namespace {

using second::bits_of;
using second::float_of;
using second::kInf;
using second::kNaN;

TEST(E2m1, HasSixteenValues) {
  const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(bits_of(decode_e2m1(code)), bits_of(values[code]));
    EXPECT_EQ(bits_of(decode_e2m1(code + 8)), bits_of(-values[code]));
    EXPECT_EQ(encode_e2m1(values[code]), code);
    EXPECT_EQ(encode_e2m1(-values[code]), code + 8);
  }
}

TEST(E2m1, RoundsTiesToTheEvenCode) {
  const float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5};
  const int codes[] = {0, 2, 2, 4, 4, 6, 6};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(encode_e2m1(ties[i]), codes[i]) << ties[i];
    EXPECT_EQ(encode_e2m1(-ties[i]), codes[i] + 8) << -ties[i];
    EXPECT_EQ(encode_e2m1(std::nextafter(ties[i], 0.0f)), i) << "below " << ties[i];
    EXPECT_EQ(encode_e2m1(std::nextafter(ties[i], kInf)), i + 1) << "above " << ties[i];
  }
}

TEST(E2m1, SaturatesKeepsTheSignOfZeroAndHasNoNaN) {
  for (float x : {6.0f, std::nextafter(6.0f, kInf), 7.0f, FLT_MAX, kInf}) {
    EXPECT_EQ(encode_e2m1(x), 7);
    EXPECT_EQ(encode_e2m1(-x), 15);
  }
  EXPECT_EQ(encode_e2m1(-0.0f), 8);
  EXPECT_EQ(encode_e2m1(-FLT_TRUE_MIN), 8);
  EXPECT_EQ(encode_e2m1(FLT_TRUE_MIN), 0);
  EXPECT_EQ(encode_e2m1(kNaN), 7);
  EXPECT_EQ(encode_e2m1(-kNaN), 7);
}

TEST(E4m3, HasTheValuesOfItsFields) {
  for (int byte = 0; byte < 128; ++byte) {
    const int field = byte >> 3, mantissa = byte & 7;
    const float value = field == 0 ? static_cast<float>(mantissa) / 512.0f
                                   : static_cast<float>(8 + mantissa) / 8.0f *
                                         float_of(static_cast<std::uint32_t>(field + 120) << 23);
    if (byte == 0x7F) {
      EXPECT_TRUE(std::isnan(decode_e4m3(0x7F)));
      EXPECT_TRUE(std::isnan(decode_e4m3(0xFF)));
      continue;
    }
    EXPECT_EQ(bits_of(decode_e4m3(static_cast<std::uint8_t>(byte))), bits_of(value)) << byte;
    EXPECT_EQ(bits_of(decode_e4m3(static_cast<std::uint8_t>(byte + 128))), bits_of(-value));
    EXPECT_EQ(encode_e4m3(value), byte);
    EXPECT_EQ(encode_e4m3(-value), byte + 128);
  }
  EXPECT_EQ(decode_e4m3(0x7E), 448.0f);
  EXPECT_EQ(decode_e4m3(0x08), 0x1p-6f);
  EXPECT_EQ(decode_e4m3(0x01), 0x1p-9f);
}

TEST(E4m3, RoundsTheTieTable) {
  const std::pair<float, int> table[] = {{0x1p-10f, 0x00},
                                         {3 * 0x1p-10f, 0x02},
                                         {5 * 0x1p-10f, 0x02},
                                         {15 * 0x1p-10f, 0x08},
                                         {31 * 0x1p-10f, 0x10},
                                         {1.0625f, 0x38},
                                         {1.1875f, 0x3A},
                                         {17, 0x58},
                                         {19, 0x5A},
                                         {248, 0x78},
                                         {432, 0x7E},
                                         {464, 0x7E},
                                         {84, 0x6A},
                                         {143.5f, 0x71},
                                         {float_of(0x3A800001), 0x01},
                                         {448, 0x7E},
                                         {465, 0x7E},
                                         {1e9f, 0x7E},
                                         {kInf, 0x7E}};
  for (const auto& [x, byte] : table) {
    EXPECT_EQ(encode_e4m3(x), byte) << x;
    EXPECT_EQ(encode_e4m3(-x), byte + 128) << -x;
  }
  EXPECT_EQ(encode_e4m3(kNaN), 0x7F);
  EXPECT_EQ(encode_e4m3(-kNaN), 0x7F);
  EXPECT_EQ(encode_e4m3(-0.0f), 0x80);
}

TEST(E5m2, IsTheUpperByteOfAnF16AndSaturates) {
  for (int byte = 0; byte < 256; ++byte) {
    const float value = decode_e5m2(static_cast<std::uint8_t>(byte));
    if ((byte & 0x7F) > 0x7C) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    EXPECT_EQ(bits_of(value), bits_of(decode_f16(static_cast<std::uint16_t>(byte << 8)))) << byte;
    EXPECT_EQ(encode_e5m2(value), (byte & 0x7F) == 0x7C ? byte - 1 : byte);
  }
  EXPECT_EQ(encode_e5m2(1.125f), 0x3C);  // ties go to the even byte
  EXPECT_EQ(encode_e5m2(1.375f), 0x3E);
  EXPECT_EQ(encode_e5m2(0x1p-17f), 0x00);
  EXPECT_EQ(encode_e5m2(3 * 0x1p-17f), 0x02);
  EXPECT_EQ(encode_e5m2(61440.0f), 0x7B);
  EXPECT_EQ(encode_e5m2(-FLT_MAX), 0xFB);
  EXPECT_EQ(encode_e5m2(kNaN), 0x7F);
  EXPECT_EQ(encode_e5m2(-kNaN), 0x7F);
  EXPECT_EQ(encode_e5m2(-0.0f), 0x80);
}

TEST(E8m0, IsAPowerOfTwoAndRoundsUp) {
  EXPECT_EQ(bits_of(decode_e8m0(0)), 0x00400000u);
  for (int byte = 1; byte < 255; ++byte) {
    const float value = float_of(static_cast<std::uint32_t>(byte) << 23);
    EXPECT_EQ(decode_e8m0(static_cast<std::uint8_t>(byte)), value);
    EXPECT_EQ(encode_e8m0(value), byte);
    EXPECT_EQ(encode_e8m0(-value), byte);
    EXPECT_EQ(encode_e8m0(std::nextafter(value, 0.0f)), byte);
    EXPECT_EQ(encode_e8m0(std::nextafter(value, kInf)), std::min(byte + 1, 254));
  }
  EXPECT_TRUE(std::isnan(decode_e8m0(255)));
  EXPECT_EQ(encode_e8m0(0.0f), 0);
  EXPECT_EQ(encode_e8m0(FLT_TRUE_MIN), 0);
  EXPECT_EQ(encode_e8m0(kInf), 254);
  EXPECT_EQ(encode_e8m0(kNaN), 255);
}

TEST(Bf16, RoundTripsEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = decode_bf16(static_cast<std::uint16_t>(bits));
    if ((bits & 0x7FFF) > 0x7F80) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_EQ(encode_bf16(value), 0x7FFF);
      continue;
    }
    ASSERT_EQ(bits_of(value), bits << 16);
    ASSERT_EQ(encode_bf16(value), bits);
  }
}

TEST(F16, RoundTripsEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = decode_f16(static_cast<std::uint16_t>(bits));
    const std::uint32_t magnitude = bits & 0x7FFF;
    if (magnitude > 0x7C00) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_EQ(encode_f16(value), 0x7FFF);
      continue;
    }
    // 2^-24 units below 2^-14; else the fields, moved. Infinity is the field above all others.
    const float expected = magnitude < 0x400    ? static_cast<float>(magnitude) * 0x1p-24f
                           : magnitude < 0x7C00 ? float_of((magnitude << 13) + (112u << 23))
                                                : kInf;
    ASSERT_EQ(bits_of(value), bits_of(expected) | (bits >> 15) << 31) << bits;
    ASSERT_EQ(encode_f16(value), bits);
  }
}

TEST(Bf16, AndF16OverflowHalfWayToTheValueThatWouldComeNext) {
  EXPECT_EQ(encode_f16(65519.996f), 0x7BFF);
  EXPECT_EQ(encode_f16(65520.0f), 0x7C00);
  EXPECT_EQ(encode_f16(-65520.0f), 0xFC00);
  EXPECT_EQ(encode_f16(kInf), 0x7C00);
  EXPECT_EQ(encode_f16(0x1p-25f), 0);
  EXPECT_EQ(encode_f16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(encode_bf16(float_of(0x7F7F7FFF)), 0x7F7F);
  EXPECT_EQ(encode_bf16(float_of(0x7F7F8000)), 0x7F80);
  EXPECT_EQ(encode_bf16(-FLT_MAX), 0xFF80);
  EXPECT_EQ(encode_bf16(-kInf), 0xFF80);
}

// Every value of a format and every midpoint between two, the float before and the one after.
std::vector<float> values_and_midpoints(int codes, const std::function<float(int)>& decode) {
  std::vector<float> out;
  for (int code = 0; code + 1 < codes; ++code) {
    out.push_back(decode(code));
    out.push_back(decode(code) + (decode(code + 1) - decode(code)) / 2);
  }
  out.push_back(decode(codes - 1));
  return out;
}

template <class Encode, class Second>
void expect_same(const std::vector<float>& xs, Encode encode, Second second) {
  for (float x : xs) {
    ASSERT_EQ(encode(x), second(x)) << x << " 0x" << std::hex << bits_of(x);
  }
}

TEST(Encoding, EqualsASecondFormulationAtEveryValueAndMidpoint) {
  using second::special_floats;
  const auto e2m1 = [](int code) { return decode_e2m1(static_cast<std::uint8_t>(code)); };
  const auto e4m3 = [](int byte) { return decode_e4m3(static_cast<std::uint8_t>(byte)); };
  const auto e5m2 = [](int byte) { return decode_e5m2(static_cast<std::uint8_t>(byte)); };
  const auto bf16 = [](int bits) { return decode_bf16(static_cast<std::uint16_t>(bits)); };
  const auto f16 = [](int bits) { return decode_f16(static_cast<std::uint16_t>(bits)); };
  const auto e8m0 = [](int byte) { return decode_e8m0(static_cast<std::uint8_t>(byte)); };
  expect_same(special_floats(values_and_midpoints(8, e2m1)), encode_e2m1, second::e2m1);
  expect_same(special_floats(values_and_midpoints(0x7F, e4m3)), encode_e4m3, second::e4m3);
  expect_same(special_floats(values_and_midpoints(0x7C, e5m2)), encode_e5m2, second::e5m2);
  expect_same(special_floats(values_and_midpoints(0x7F80, bf16)), encode_bf16, second::bf16);
  expect_same(special_floats(values_and_midpoints(0x7C00, f16)), encode_f16, second::f16);
  expect_same(special_floats(values_and_midpoints(255, e8m0)), encode_e8m0, second::e8m0);
}

TEST(Encoding, EqualsASecondFormulationOnTenMillionFloats) {
  std::mt19937 random(20240607);
  for (int i = 0; i < 10'000'000; ++i) {
    const std::uint32_t u = random();
    // Half of them anywhere, half with exponents from 2^-27 to 2^20, where all formats have values.
    const float x = float_of(i % 2 == 0 ? u : (u & 0x807FFFFFu) | (100u + (u >> 23) % 48u) << 23);
    ASSERT_EQ(encode_e2m1(x), second::e2m1(x)) << std::hex << bits_of(x);
    ASSERT_EQ(encode_e4m3(x), second::e4m3(x)) << std::hex << bits_of(x);
    if (i % 10 != 0) continue;
    ASSERT_EQ(encode_e5m2(x), second::e5m2(x)) << std::hex << bits_of(x);
    ASSERT_EQ(encode_e8m0(x), second::e8m0(x)) << std::hex << bits_of(x);
    ASSERT_EQ(encode_bf16(x), second::bf16(x)) << std::hex << bits_of(x);
    ASSERT_EQ(encode_f16(x), second::f16(x)) << std::hex << bits_of(x);
  }
}

TEST(Elements, LoadAndStoreByTheirType) {
  float f32[2] = {1.5f, 0};
  std::uint16_t half[2] = {0x3E00, 0x3FC0};
  EXPECT_EQ(load(f32, DType::f32, 0), 1.5f);
  EXPECT_EQ(load(half, DType::f16, 0), 1.5f);
  EXPECT_EQ(load(half, DType::bf16, 1), 1.5f);
  store(f32, DType::f32, 1, -2.0f);
  store(half, DType::f16, 1, -2.0f);
  EXPECT_EQ(f32[1], -2.0f);
  EXPECT_EQ(half[1], 0xC000);
  store(half, DType::bf16, 0, -2.0f);
  EXPECT_EQ(half[0], 0xC000);
  EXPECT_TRUE(std::isnan(load(half, DType::u8, 0)));
}

TEST(Elements, StoreNaNAsOnePatternAType) {
  for (float nan : {kNaN, -kNaN, float_of(0x7F800001)}) {
    float f32 = 0;
    std::uint16_t half = 0;
    store(&f32, DType::f32, 0, nan);
    EXPECT_EQ(bits_of(f32), 0x7FFFFFFFu);
    store(&half, DType::f16, 0, nan);
    EXPECT_EQ(half, 0x7FFF);
    store(&half, DType::bf16, 0, nan);
    EXPECT_EQ(half, 0x7FFF);
  }
}

}  // namespace
}  // namespace diecast::reference
