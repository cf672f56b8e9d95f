// The encodings of the small formats once more, by comparison chains and bit arithmetic: what the
// reference's tables are held against. Shares nothing with it, nor with the templates.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace diecast::second {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline std::uint8_t e2m1(float x) {
  if (x != x) return 7;
  const float a = std::fabs(x);
  const int code = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) +
                   (a >= 3.5f) + (a > 5.0f);
  return static_cast<std::uint8_t>(code | (std::signbit(x) ? 8 : 0));
}

// Drops `dropped` low bits of `u`, to nearest, ties to even.
inline std::uint32_t round_off(std::uint64_t u, int dropped) {
  if (dropped > 40) return 0;  // far below half of the last bit kept
  const std::uint64_t kept = u >> dropped, rest = u - (kept << dropped);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  return static_cast<std::uint32_t>(kept + (rest > half || (rest == half && kept % 2 == 1)));
}

// The magnitude code of a finite float in a format of fewer exponents than f32's, as if they had no
// upper end. Rounding up may carry into the exponent field: that is the code.
inline std::uint32_t magnitude_code(float x, int mantissa_bits, int bias) {
  const std::uint32_t u = bits_of(x) & 0x7FFFFFFFu;
  const int field = static_cast<int>(u >> 23) - 127 + bias;
  const std::uint64_t significand = (u & 0x7FFFFFu) | 0x800000u;
  if (field < 1) return round_off(significand, 23 - mantissa_bits + 1 - field);  // subnormal
  return (static_cast<std::uint32_t>(field - 1) << mantissa_bits) +
         round_off(significand, 23 - mantissa_bits);
}

inline std::uint8_t e4m3(float x) {
  const std::uint32_t u = bits_of(x) & 0x7FFFFFFFu;
  if (u > 0x7F800000u) return 0x7F;
  const std::uint8_t sign = bits_of(x) >> 31 ? 0x80 : 0;
  if (u >= bits_of(448.0f)) return sign | 0x7E;
  return sign | static_cast<std::uint8_t>(magnitude_code(x, 3, 7));
}

inline std::uint8_t e5m2(float x) {
  const std::uint32_t u = bits_of(x) & 0x7FFFFFFFu;
  if (u > 0x7F800000u) return 0x7F;
  const std::uint8_t sign = bits_of(x) >> 31 ? 0x80 : 0;
  if (u >= bits_of(57344.0f)) return sign | 0x7B;
  return sign | static_cast<std::uint8_t>(magnitude_code(x, 2, 15));
}

inline std::uint16_t f16(float x) {
  const std::uint32_t u = bits_of(x) & 0x7FFFFFFFu;
  if (u > 0x7F800000u) return 0x7FFF;
  const std::uint16_t sign = bits_of(x) >> 31 ? 0x8000 : 0;
  if (u >= bits_of(65520.0f)) return sign | 0x7C00;
  return sign | static_cast<std::uint16_t>(magnitude_code(x, 10, 15));
}

inline std::uint16_t bf16(float x) {
  const std::uint32_t u = bits_of(x);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFF;
  return static_cast<std::uint16_t>(round_off(u, 16));
}

inline std::uint8_t e8m0(float x) {
  const std::uint32_t u = bits_of(x) & 0x7FFFFFFFu;
  if (u > 0x7F800000u) return 255;
  if (u == 0x7F800000u) return 254;
  const std::uint32_t field = u >> 23, mantissa = u & 0x7FFFFFu;
  const bool up = mantissa != 0 && field != 254 && !(field == 0 && mantissa <= 0x400000u);
  return static_cast<std::uint8_t>(field + (up ? 1 : 0));
}

// Zeros, subnormals, infinities, NaNs of all kinds, the ends of the normal range, and each of
// `near` with its neighbours; both signs of everything.
inline std::vector<float> special_floats(const std::vector<float>& near) {
  std::vector<std::uint32_t> bits = {0,          1,          2,          0x003FFFFF, 0x00400000,
                                     0x00400001, 0x007FFFFF, 0x00800000, 0x00800001, 0x7F7FFFFE,
                                     0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FA00000, 0x7FC00000,
                                     0x7FC00001, 0x7FFFFFFF};
  for (float x : near) {
    const std::uint32_t u = bits_of(x);
    bits.insert(bits.end(), {u - 1, u, u + 1});
  }
  std::vector<float> out;
  for (std::uint32_t u : bits) {
    out.push_back(float_of(u & 0x7FFFFFFFu));
    out.push_back(float_of(u | 0x80000000u));
  }
  return out;
}

}  // namespace diecast::second
