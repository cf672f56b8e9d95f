// The MX formats: a block of 32 elements shares one E8M0 scale. What a block's largest magnitude
// makes of the scale, and what the scale makes of the elements; formulas in templates/PROFILES.md.
/* diecast
option enum FORMAT {mxfp8_e4m3, mxfp8_e5m2, mxfp4} = mxfp8_e4m3
let  FOUR_BIT = FORMAT == mxfp4
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/mx/mx_options.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/e2m1_codes.h>
#include <diecast/device/numbers/e5m2.h>
#include <diecast/device/numbers/e8m0.h>

namespace diecast {

// A scale byte as bf16 arithmetic has it (MXFP4 in profile modelopt): 2^ceil(l), where l is log2 of
// fl(amax / 6), each of the two rounded to bf16. With d = 2^k * (1 + m / 128), l rounds down to k where
// m is below a threshold that grows with |k| as the places of a bf16 at k do.
DIECAST_DEVICE e8m0 mx_scale_of_bf16(f32 amax) {
  const u32 d = __float_as_uint(to_f32(from_f32<bf16>(__fmul_rn(amax, 0x1.555556p-3f))));
  const bool subnormal = d < 0x00800000u;
  if (d < 0x00400000u) return {0};
  const int k = subnormal ? -127 : static_cast<int>(d >> 23) - 127;
  const u32 m = (subnormal ? d >> 15 : d >> 16) & 127u;
  const int places = 32 - __clz(k < 0 ? -k - 1 : k);  // 0 to 7
  const u32 threshold = static_cast<u32>(0x190C060302010101ull >> (8 * places)) & 0xFFu;
  return {static_cast<u8>(k + 127 + (m >= threshold ? 1 : 0))};
}

// What rounds to nearest even as y does with ties towards zero: the float before it. Zeros, and what a
// bf16 has no bits for, are negative.
DIECAST_DEVICE f32 before_tie(f32 y) {
  const u32 word = __float_as_uint(y), magnitude = word & 0x7FFFFFFFu;
  if (y != y) return y;
  const u32 sign = magnitude <= 0x00008000u ? 0x80000000u : word & 0x80000000u;  // 2^-134
  return __uint_as_float(sign | (magnitude == 0 ? 0 : magnitude - 1));
}

// By FORMAT and MODE; NanScale: a NaN makes the block's scale NaN (profile torchao), or else it is
// ignored (te). Modelopt: its MXFP4.
template <int Format, int Mode, bool NanScale, bool Modelopt = false>
struct Mx {
  static constexpr bool kFourBit = Format == FORMAT_mxfp4, kNanScale = NanScale;
  static constexpr u32 kLargestExponent = Format == FORMAT_mxfp8_e4m3 ? 8 : Format == FORMAT_mxfp8_e5m2 ? 15 : 2;
  static constexpr u32 kMantissaBits = Format == FORMAT_mxfp8_e4m3 ? 3 : Format == FORMAT_mxfp8_e5m2 ? 2 : 1;
  // 1 / 448, 1 / 57344, 1 / 6, rounded.
  static constexpr f32 kOverLargest = Format == FORMAT_mxfp8_e4m3   ? 0x1.24924ap-9f
                                      : Format == FORMAT_mxfp8_e5m2 ? 0x1.24924ap-16f
                                                                    : 0x1.555556p-3f;

  // The bits of |x|; what is larger has the larger bits, NaN the largest of all.
  template <class IN>
  DIECAST_DEVICE static u32 magnitude(IN x) {
    const f32 a = fabsf(to_f32(x));
    return NanScale || a == a ? __float_as_uint(a) : 0;
  }

  // The largest of a block of 16.
  template <class IN>
  DIECAST_DEVICE static u32 largest(const Block16<IN>& block) {
    if constexpr (!NanScale) {
      return __float_as_uint(amax_of(block));
    } else {
      u32 found = 0;
      DIECAST_UNROLL
      for (int i = 0; i < Block16<IN>::kWords; ++i) {
        const u32 word = block.words[i];
        if constexpr (bits<IN>() == 32) {
          found = max(found, word & 0x7FFFFFFFu);
        } else {
          found = max(found, max(word << 16 & 0x7FFF0000u, word & 0x7FFF0000u));
        }
      }
      return __float_as_uint(to_f32(from_bits<IN>(bits<IN>() == 32 ? found : found >> 16)));
    }
  }

  // The scale of a block whose largest magnitude has these bits.
  DIECAST_DEVICE static e8m0 scale(u32 amax) {
    if (NanScale && amax >= 0x7F800000u) return {255};
    if constexpr (Modelopt) {
      return mx_scale_of_bf16(__uint_as_float(amax));
    } else if constexpr (Mode == MODE_rceil) {
      return e8m0_from_f32_up(__fmul_rn(__uint_as_float(amax), kOverLargest));
    } else {
      if constexpr (Mode == MODE_ceil) amax += 0x7FFFFFu;
      if constexpr (Mode == MODE_even) amax += 1u << (22 - kMantissaBits);
      const u32 exponent = amax >> 23;
      if (exponent == 255u && Mode == MODE_even) return {255};
      return {static_cast<u8>(exponent > kLargestExponent ? exponent - kLargestExponent : 0)};
    }
  }

  // A byte of FP8.
  DIECAST_DEVICE static u32 byte(f32 y) { return Format == FORMAT_mxfp8_e4m3 ? e4m3_from_f32(y).bits : e5m2_from_f32(y).bits; }

  // Four bytes of FP8.
  DIECAST_DEVICE static u32 four_bytes(const f32* y) {
    if constexpr (Format == FORMAT_mxfp8_e4m3) {
      return e4m3x2_from_f32(y[0], y[1]) | e4m3x2_from_f32(y[2], y[3]) << 16;
    } else {
      return e5m2x2_from_f32(y[0], y[1]) | e5m2x2_from_f32(y[2], y[3]) << 16;
    }
  }

  // One word of codes, MXFP4's of Modelopt's way or bytes of FP8.
  template <class IN>
  DIECAST_DEVICE static u32 word(const Block16<IN>& block, f32 factor, int w) {
    if constexpr (kFourBit) {
      f32 y[8];
      DIECAST_UNROLL
      for (int i = 0; i < 8; ++i) y[i] = before_tie(__fmul_rn(block.element(8 * w + i), factor));
      return e2m1_codes(y);
    } else {
      f32 y[4];
      DIECAST_UNROLL
      for (int i = 0; i < 4; ++i) y[i] = __fmul_rn(block.element(4 * w + i), factor);
      return four_bytes(y);
    }
  }

  // Sixteen elements times `factor`: kWords words of codes, in order.
  static constexpr int kWords = kFourBit ? 2 : 4;
  template <class IN>
  DIECAST_DEVICE static void encode(const Block16<IN>& block, f32 factor, u32* words) {
    if constexpr (kFourBit && !Modelopt) {
      codes_of(block, factor, words);
    } else {
      DIECAST_UNROLL
      for (int w = 0; w < kWords; ++w) words[w] = word(block, factor, w);
    }
  }
};

}  // namespace diecast
