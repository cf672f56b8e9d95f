// Factors for bf16 elements under one global scale, of whose products E2M1 codes are the leading bits (tie_codes.h).
//
// A product y, its element times its block's factor, goes to the nearest code, from a midpoint of two (1/4, 3/4, 5/4, 7/4, 5/2,
// 7/2, 5) to the even one. Cut off to the f16 of y * 2^-14, whose grid is as even as E2M1's where it begins, y shows its code in
// bits 9 to 11 once half a step is added. That takes midpoints up, which is right where the code below is odd. But an element
// has eight bits: few products of one factor are near a midpoint, and which they are says the significand of the block's
// scale, of which there are eight. Of three ways one is right, for all but the rarest: that one; and two with a factor less by
// 2^-12, under which midpoints are cut off to the f16 below, where 2^-9 of a part of its own bits is added to that: of bit
// 9, so that midpoints above odd codes come back, or of bits 9 to 11, so that all but 1/4 do.
#pragma once

#include <diecast/device/nvfp4_ordinary.h>
#include <diecast/device/shared_place.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>
#include <diecast/device/vector.h>

namespace diecast {

inline constexpr u32 kTieFactors = 128;  // one for each scale without a sign, by its bits
inline constexpr f32 kUnitLess = 1.0f - 0x1p-12f;
inline constexpr u32 kSigns = 0x80008000u, kOddCodes = 0x82008200u, kCodes = 0x8E008E00u;  // of two f16

// In shared memory: of one global scale, which is kept for blocks that are not ordinary.
struct TieFactors {
  Vector<8> of_scale[kTieFactors];  // as TieScale has them
  Vector<16> global;                // as OrdinaryGlobal has it, then what TieGlobal has of it
  Vector<8> of_significand[8];      // those of scales from 1 to below 2
};

struct TieScale;

struct TieGlobal {
  using Scale = TieScale;
  SharedPlace factors;  // TieFactors
  f32 encode_sixth;     // as Nvfp4Global has it; NaN where no factor is right: a scale with a sign would be looked for behind the others

  DIECAST_DEVICE void find() { encode_sixth = __uint_as_float(load_shared<16>(factors + 8 * kTieFactors).words[3]); }
  DIECAST_DEVICE OrdinaryGlobal of_all() const {
    const Vector<16> v = load_shared<16>(factors + 8 * kTieFactors);
    return {{__uint_as_float(v.words[0]), __uint_as_float(v.words[1])}, __uint_as_float(v.words[2])};
  }
};

// The scale of a block under an amax, its own or a larger one, NaN if the block has NaN.
struct TieScale {
  u32 bits;          // of the scale, and no others
  e4m3 scale;
  f32 factor;        // times 2^-14; NaN where no way is right, or products would be out of range
  u32 part;          // kSigns, kOddCodes or kCodes: 2^-9 of these bits of a product is added to it
  bool is_ordinary;  // of such a block find_codes() are the codes

  DIECAST_DEVICE TieScale(f32 amax, const TieGlobal& global) {
    bits = e4m3x2_from_f32(__fmul_rn(amax, global.encode_sixth), 0.0f);
    scale = {static_cast<u8>(bits)};
    const Vector<8> found = load_shared<8>(global.factors + 8 * bits);
    factor = __uint_as_float(found.words[0]), part = found.words[1];
    is_ordinary = __fmul_rn(amax, factor) < 6.875f * 0x1p-14f;  // 7 after what is added
  }
  DIECAST_DEVICE u32 number() const { return bits; }
};

// All lanes of a warp: of the scale 1 + lane % 8 / 8, as TieScale has it. Lane by lane an element next to a midpoint
// of significand 1, 5/4, 3/2 or 7/4, and its two neighbours are tried; further ones are on the same side of it any way.
DIECAST_DEVICE Vector<8> tie_ways(const OrdinaryGlobal& global) {
  const u32 lane = threadIdx.x % 32;
  const ScaleAndFactor by(1.0f + static_cast<f32>(lane % 8) * 0.125f, global.decode);
  const u32 nth = lane / 8;
  const f32 middle = 1.0f + static_cast<f32>(nth) * 0.25f;
  // What is added there, in 2^-10: a unit at 3/4 and at 7/4 for bit 9; two at 5/4 and three at 7/4 for bits 9 to 11.
  const f32 odd_from = middle - static_cast<f32>(0x1200u >> 4 * nth & 15u) * 0x1p-10f;
  const f32 any_from = middle - static_cast<f32>(0x3220u >> 4 * nth & 15u) * 0x1p-10f;
  u32 x = ((__float_as_uint(__fmul_rn(middle, by.step)) + 0x8000u) & 0xFFFF0000u) - 0x10000u;
  u32 wrong = global.limit != 0.0f ? 0 : 7;
DIECAST_NO_UNROLL
  for (int i = 0; i < 3; ++i, x += 0x10000u) {
    const f32 element = __uint_as_float(x), y = __fmul_rn(element, by.factor);
    const f32 less = __fmul_rn(element, __fmul_rn(by.factor, kUnitLess));
    const bool up = y > middle || (nth >= 2 && y == middle);  // above an odd code
    wrong |= (up != (y >= middle) ? 1u : 0u) | (up != (less >= odd_from) ? 2u : 0u) | (up != (less >= any_from) ? 4u : 0u);
  }
  wrong |= __shfl_xor_sync(0xFFFFFFFFu, wrong, 8), wrong |= __shfl_xor_sync(0xFFFFFFFFu, wrong, 16);
  const f32 factor = __fmul_rn(__fmul_rn(by.factor, (wrong & 1u) == 0 ? 1.0f : kUnitLess), 0x1p-14f);
  const u32 part = (wrong & 1u) == 0 ? kSigns : (wrong & 2u) == 0 ? kOddCodes : kCodes;
  return {{wrong != 7u ? __float_as_uint(factor) : 0x7FFFFFFFu, part}};
}

// Of the scale of these bits. Other powers of two make the same products but for a power of two. Under scale 0 a product is next
// below what it would be by 2^128: it is cut off to below the midpoint that it would be, where it belongs.
DIECAST_DEVICE Vector<8> tie_factor(u32 bits, const Vector<8>* of_significand) {
  const u32 value = __float_as_uint(f32_from_block_scale({static_cast<u8>(bits)}));
  Vector<8> found = of_significand[value >> 20 & 7u];
  const f32 power = __uint_as_float(0x7F000000u - (value & 0x7F800000u));
  if (bits == 0) found.words[1] = kSigns;
  found.words[0] = __float_as_uint(__fmaf_rn(__uint_as_float(found.words[0]), bits == 0 ? 0.0f : power, bits == 0 ? kLargest * 0x1p-14f : 0.0f));
  return found;
}

// All `Threads` of the block of threads: both sides' factors, there when they return. global_of(side): rows', columns' global scale.
template <int Threads, class GlobalOf>
DIECAST_DEVICE void make_tie_factors(TieFactors* sides, const GlobalOf& global_of) {
  static_assert(2 * kTieFactors % Threads == 0);
  const u32 thread = held_thread();
DIECAST_NO_UNROLL
  for (u32 n = 0; n < (Threads == 32 ? 2 : 1); ++n) {  // as often for all threads: no loop of one step
    const u32 side = thread / 32 + n;
    if (side >= 2) continue;
    const OrdinaryGlobal global = global_of(side);
    const Vector<8> ways = tie_ways(global);
    if (thread % 32 < 8) sides[side].of_significand[thread % 8] = ways;
    if (thread % 32 == 8) {
      const u32 encode_sixth = __float_as_uint(global.encode_sixth);
      sides[side].global = {{encode_sixth, __float_as_uint(global.decode), __float_as_uint(global.limit), global.limit != 0.0f ? encode_sixth : 0x7FFFFFFFu}};
    }
  }
  __syncthreads();
DIECAST_NO_UNROLL
  for (u32 n = 0; n < 2 * kTieFactors / Threads; ++n) {
    const u32 i = thread + n * Threads;
    TieFactors& side = sides[i / kTieFactors];
    side.of_scale[i % kTieFactors] = tie_factor(i % kTieFactors, side.of_significand);
  }
  __syncthreads();
}

}  // namespace diecast
