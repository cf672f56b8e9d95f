// Profile te for blocks as nearly all are: 16-bit elements, none of them NaN or cut off. The bits are
// Nvfp4Recipe's in fewer instructions, for kernels that those are the limit of; what is not ordinary
// goes the recipe's way.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/nvfp4.h>
#include <diecast/device/nvfp4_profiles.h>

namespace diecast {

// Targets that convert to E2M1 themselves need no other way.
template <class IN, int Profile, int Global, int FourOver>
constexpr bool kHasOrdinary = bits<IN>() == 16 && Profile == kProfileTe && Global == kGlobalAmax &&
                              FourOver == 0 && !DIECAST_HAS_E2M1_CVT;

struct OrdinaryGlobal : Nvfp4Global {
  f32 limit;  // what a block's largest product must be below
};

// With a limit of 0 where a scale, not 0, times `decode` may have a reciprocal that needs care, or is
// above 2^112.
template <bool Ordinary, class OfTensor>
DIECAST_DEVICE auto with_limit(const OfTensor& global) {
  if constexpr (Ordinary) {
    f32 limit = global.decode >= 0x1p-117f && global.decode <= 0x1p103f ? 7.0f : 0.0f;
#if !DIECAST_HOST
    asm volatile("" : "+f"(limit));  // kept: a compiler would rather find it anew for every block
#endif
    return OrdinaryGlobal{global, limit};
  } else {
    return global;
  }
}

// A block's scale and factor under an amax, its own or a larger one, NaN if the block has NaN.
struct OrdinaryScale {
  e4m3 scale;
  f32 factor;
  bool is_ordinary;  // of such a block ordinary_codes() are the codes

  DIECAST_DEVICE OrdinaryScale(f32 amax, const OrdinaryGlobal& global) {
    const f32 wanted = __fmul_rn(amax, global.encode_sixth);
#if DIECAST_HAS_E4M3_CVT
    u32 byte;
    f32 value;
    asm("{\n"
        " .reg .b16 pair, low, high;\n"
        " .reg .b32 halves;\n"
        " cvt.rn.satfinite.e4m3x2.f32 pair, 0f00000000, %2;\n"
        " cvt.rn.f16x2.e4m3x2 halves, pair;\n"
        " mov.b32 {low, high}, halves;\n"
        " cvt.f32.f16 %1, low;\n"
        " cvt.u32.u16 %0, pair;\n"
        "}"
        : "=r"(byte), "=f"(value)
        : "f"(wanted));
    scale = {static_cast<u8>(byte)};
#else
    scale = e4m3_from_f32(wanted);
    const f32 value = f32_from_block_scale(scale);
#endif
    // As reciprocal(), which only a scale of 0 needs the minimum of: there the sum is NaN and gives way.
    const f32 step = __fmul_rn(value, global.decode);
#if DIECAST_HOST
    factor = fminf(1.0f / step, kLargest);
#else
    f32 near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(step));
    factor = fminf(__fmaf_rn(__fmaf_rn(-step, near, 1.0f), near, near), kLargest);
#endif
    is_ordinary = __fmul_rn(amax, factor) < global.limit;
  }
};

// Products times 2^-14, below 7 * 2^-14, rounded to the grid of E2M1: a pair of f16 that have its codes
// in bits 9 to 11. With m = max(|y|, 2^-14 and a little) and K = m * (2^22 - 1), rounded, K + |y| is
// below the power of two above 2^22 m, and its last place the grid's step at |y|; where |y| is between
// two codes K is an even number of steps: the sum rounds |y|, nearest even. A test tries every |y|.
DIECAST_DEVICE u32 ordinary_pair(f32 y0, f32 y1) {
  u32 pair;
#if DIECAST_HOST
  const f32 k0 = fmaxf(fabsf(y0), 0x1.000008p-14f) * 4194303.0f;
  const f32 k1 = fmaxf(fabsf(y1), 0x1.000008p-14f) * 4194303.0f;
  const f32 rounded0 = (k0 + fabsf(y0)) - k0, rounded1 = (k1 + fabsf(y1)) - k1;
  pair = to_bits(from_f32<f16>(rounded0)) | to_bits(from_f32<f16>(rounded1)) << 16;
#else
  asm("{\n"
      " .reg .f32 a0, a1, k0, k1;\n"
      " abs.f32 a0, %1;\n"
      " abs.f32 a1, %2;\n"
      " max.f32 k0, a0, 0f38800004;\n"  // 2^-14 * (1 + 2^-21)
      " max.f32 k1, a1, 0f38800004;\n"
      " mul.rn.f32 k0, k0, 0f4A7FFFFC;\n"  // 2^22 - 1
      " mul.rn.f32 k1, k1, 0f4A7FFFFC;\n"
      " add.rn.f32 a0, k0, a0;\n"
      " add.rn.f32 a1, k1, a1;\n"
      " sub.rn.f32 a0, a0, k0;\n"
      " sub.rn.f32 a1, a1, k1;\n"
      " cvt.rn.f16x2.f32 %0, a1, a0;\n"
      "}"
      : "=r"(pair)
      : "f"(y0), "f"(y1));
#endif
  return pair;
}

// Codes of a block's elements times `factor`. Their signs are the elements'.
template <class IN>
DIECAST_DEVICE void ordinary_codes(const Block16<IN>& block, f32 factor, u32 (&codes)[2]) {
  const f32 times = __fmul_rn(factor, 0x1p-14f);
  const auto pair = [&](int i) {
    return ordinary_pair(__fmul_rn(block.element(i), times), __fmul_rn(block.element(i + 1), times));
  };
DIECAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    u32 fours[2];  // elements 0, 2, 1, 3 in the high halves of bytes
DIECAST_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int w = 4 * half + 2 * i;
      const u32 signs = __byte_perm(block.words[w], block.words[w + 1], 0x7351) & 0x80808080u;
      fours[i] = 8 * __byte_perm(pair(2 * w), pair(2 * w + 2), 0x7351) | signs;
    }
    codes[half] = (__byte_perm(fours[0], fours[1], 0x5410) >> 4) + __byte_perm(fours[0], fours[1], 0x7632);
  }
}

}  // namespace diecast
