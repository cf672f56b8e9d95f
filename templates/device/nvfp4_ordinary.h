// Profile te for blocks as nearly all are: 16-bit elements, none of them NaN or cut off. The bits are
// Nvfp4Recipe's in fewer instructions, for kernels that those are the limit of; what is not ordinary
// goes the recipe's way.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/e2m1_codes.h>
#include <diecast/device/nvfp4.h>
#include <diecast/device/nvfp4_profiles.h>

namespace diecast {

// Targets that convert to E2M1 themselves need no other way, and on the host a recipe's own is the
// short one (block16_host.h).
template <class IN, int Profile, int Global, int FourOver>
constexpr bool kHasOrdinary = bits<IN>() == 16 && Profile == kProfileTe && Global == kGlobalAmax &&
                              FourOver == 0 && !DIECAST_HAS_E2M1_CVT && !DIECAST_HOST;

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

// All lanes of a warp: what one of them has.
DIECAST_DEVICE OrdinaryGlobal global_of_lane(const OrdinaryGlobal& own, int lane) {
  return with_limit<true>(Nvfp4Global{__shfl_sync(0xFFFFFFFFu, own.encode_sixth, lane),
                                      __shfl_sync(0xFFFFFFFFu, own.decode, lane)});
}

// A block's scale and factor under an amax, its own or a larger one, NaN if the block has NaN.
struct OrdinaryScale : ScaleAndFactor {
  bool is_ordinary;  // of such a block ordinary_codes() are the codes

  DIECAST_DEVICE OrdinaryScale(f32 amax, const OrdinaryGlobal& global)
      : ScaleAndFactor(__fmul_rn(amax, global.encode_sixth), global.decode),
        is_ordinary(__fmul_rn(amax, factor) < global.limit) {}
};

// Products times 2^-14, below 7 * 2^-14, rounded to the grid of E2M1: v0 and v1, and a pair of f16 that
// have its codes in bits 9 to 11. With m = max(|y|, 2^-14 and a little) and K = m * (2^22 - 1), rounded, K + |y| is
// below the power of two above 2^22 m, and its last place the grid's step at |y|; where |y| is between
// two codes K is an even number of steps: the sum rounds |y|, nearest even. A test tries every |y|.
DIECAST_DEVICE u32 ordinary_pair(f32 y0, f32 y1, f32& v0, f32& v1) {
  u32 pair;
#if DIECAST_HOST
  const f32 k0 = fmaxf(fabsf(y0), 0x1.000008p-14f) * 4194303.0f;
  const f32 k1 = fmaxf(fabsf(y1), 0x1.000008p-14f) * 4194303.0f;
  v0 = (k0 + fabsf(y0)) - k0, v1 = (k1 + fabsf(y1)) - k1;
  pair = to_bits(from_f32<f16>(v0)) | to_bits(from_f32<f16>(v1)) << 16;
#else
  asm("{\n"
      " .reg .f32 a0, a1, k0, k1;\n"
      " abs.f32 a0, %3;\n"
      " abs.f32 a1, %4;\n"
      " max.f32 k0, a0, 0f38800004;\n"  // 2^-14 * (1 + 2^-21)
      " max.f32 k1, a1, 0f38800004;\n"
      " mul.rn.f32 k0, k0, 0f4A7FFFFC;\n"  // 2^22 - 1
      " mul.rn.f32 k1, k1, 0f4A7FFFFC;\n"
      " add.rn.f32 a0, k0, a0;\n"
      " add.rn.f32 a1, k1, a1;\n"
      " sub.rn.f32 %1, a0, k0;\n"
      " sub.rn.f32 %2, a1, k1;\n"
      " cvt.rn.f16x2.f32 %0, %2, %1;\n"
      "}"
      : "=r"(pair), "=&f"(v0), "=&f"(v1)
      : "f"(y0), "f"(y1));
#endif
  return pair;
}

// The signs of elements 8 * half to 8 * half + 7, in the top bits of nibbles; else zeros.
template <class IN>
DIECAST_DEVICE u32 signs_of(const Block16<IN>& block, int half) {
  u32 even, odd;  // in the top bits of bytes
  if constexpr (bits<IN>() == 16) {
    const u32* w = block.words + 4 * half;
    const u32 low = __byte_perm(w[0], w[1], 0x7351), high = __byte_perm(w[2], w[3], 0x7351);
    even = __byte_perm(low, high, 0x5410), odd = __byte_perm(low, high, 0x7632);
  } else {
    const u32* w = block.words + 8 * half;
    even = top_bytes(w[0], w[2], w[4], w[6]), odd = top_bytes(w[1], w[3], w[5], w[7]);
  }
  return (odd & 0x80808080u) | (even >> 4 & 0x08080808u);
}

// a * b + c, with one rounding or two.
DIECAST_DEVICE f32 nearly_fused(f32 a, f32 b, f32 c) {
#if DIECAST_HOST
  return a * b + c;
#else
  return __fmaf_rn(a, b, c);
#endif
}

}  // namespace diecast
