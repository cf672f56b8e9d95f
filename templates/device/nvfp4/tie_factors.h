// Factors for bf16 elements under one global scale, of whose products E2M1 codes are the leading bits: in which way (tie_ways.h) says
// the significand of the block's scale, of which there are eight, so that all scales' are made in advance.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/ordinary_codes.h>
#include <diecast/device/nvfp4/tie_codes.h>
#include <diecast/device/nvfp4/tie_ways.h>

namespace diecast {

inline constexpr u32 kTieFactors = 128;  // one for each scale without a sign, by its bits

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
  f32 encode_sixth;  // as Nvfp4Global has it; NaN where no factor is right: a scale with a sign would be looked for behind the others

  DIECAST_DEVICE void find() { encode_sixth = __uint_as_float(load_shared<16>(factors + 8 * kTieFactors).words[3]); }
  DIECAST_DEVICE OrdinaryGlobal of_all() const {
    const Vector<16> v = load_shared<16>(factors + 8 * kTieFactors);
    return {{__uint_as_float(v.words[0]), __uint_as_float(v.words[1])}, __uint_as_float(v.words[2])};
  }
};

// The scale of a block under an amax, its own or a larger one, NaN if the block has NaN.
struct TieScale {
  u32 bits;  // of the scale, and no others
  e4m3 scale;
  TieWay way;        // with a factor of NaN also where products would be out of range
  bool is_ordinary;  // of such a block find_codes() are the codes

  DIECAST_DEVICE TieScale(f32 amax, const TieGlobal& global) {
    bits = e4m3x2_from_f32(__fmul_rn(amax, global.encode_sixth), 0.0f);
    scale = {static_cast<u8>(bits)};
    const Vector<8> found = load_shared<8>(global.factors + 8 * bits);
    way = {__uint_as_float(found.words[0]), found.words[1]};
    is_ordinary = __fmul_rn(amax, way.factor) < kTieLimit;
  }
  DIECAST_DEVICE u32 number() const { return bits; }
};

// Which of three ways, the factor as it is, less and little less, a bit each, are wrong for elements next to a midpoint of significand
// 1 + nth / 4: the nearest alone may be. A factor is 1 / step; both may be times a power of two.
DIECAST_DEVICE u32 wrong_tie_ways(u32 nth, f32 step, f32 factor) {
  const f32 middle = 1.0f + static_cast<f32>(nth) * 0.25f;
  const f32 up_from = middle - static_cast<f32>(0x2210u >> 4 * nth & 15u) * 0x1p-10f;  // where something is added
  const f32 element = nearest_bf16(__fmul_rn(middle, step)), y = __fmul_rn(element, factor);
  const bool up = y > middle || (nth >= 2 && y == middle);  // above an odd code
  const f32 less = __fmul_rn(element, __fmul_rn(factor, kTieLess)),
            little = __fmul_rn(element, __fmul_rn(factor, kTieLittleLess));
  return (up != (y >= middle) ? 1u : 0u) | (up != (less >= up_from) ? 2u : 0u) | (up != (little >= up_from) ? 4u : 0u);
}

// The first that is not wrong, of a factor times 2^-14.
DIECAST_DEVICE TieWay right_tie_way(u32 wrong, f32 factor) {
  if ((wrong & 1u) == 0) return {factor, 0};
  if (wrong == 7) return {__uint_as_float(0x7FFFFFFFu), 0};
  return {__fmul_rn(factor, (wrong & 2u) == 0 ? kTieLess : kTieLittleLess), kTieAdded};
}

// All lanes of a warp: of the scale 1 + lane % 8 / 8, as TieScale has it. Lane by lane one midpoint is tried.
DIECAST_DEVICE Vector<8> tie_ways(const OrdinaryGlobal& global) {
  const u32 lane = threadIdx.x % 32;
  const ScaleAndFactor by(1.0f + static_cast<f32>(lane % 8) * 0.125f, global.decode);
  u32 wrong = global.limit != 0.0f ? wrong_tie_ways(lane / 8, by.step, by.factor) : 7;
  wrong |= __shfl_xor_sync(0xFFFFFFFFu, wrong, 8), wrong |= __shfl_xor_sync(0xFFFFFFFFu, wrong, 16);
  const TieWay way = right_tie_way(wrong, __fmul_rn(by.factor, 0x1p-14f));
  return {{__float_as_uint(way.factor), way.added}};
}

// Of the scale of these bits. Other powers of two make the same products but for a power of two. Under scale 0 a product is next
// below what it would be by 2^128: it is cut off to below the midpoint that it would be, where it belongs.
DIECAST_DEVICE Vector<8> tie_factor(u32 bits, const Vector<8>* of_significand) {
  const u32 value = __float_as_uint(f32_from_block_scale({static_cast<u8>(bits)}));
  Vector<8> found = of_significand[value >> 20 & 7u];
  const f32 power = __uint_as_float(0x7F000000u - (value & 0x7F800000u));
  if (bits == 0) found.words[1] = 0;
  found.words[0] = __float_as_uint(
      __fmaf_rn(__uint_as_float(found.words[0]), bits == 0 ? 0.0f : power, bits == 0 ? kLargest * 0x1p-14f : 0.0f));
  return found;
}

// All `Threads` of the thread block: both sides' factors, there when they return. global_of(side): rows', columns' global scale.
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
      sides[side].global = {{encode_sixth, __float_as_uint(global.decode), __float_as_uint(global.limit),
                             global.limit != 0.0f ? encode_sixth : 0x7FFFFFFFu}};
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

DIECAST_DEVICE void find_codes(const Block16<bf16>& block, const TieScale& by, u32 (&codes)[2]) {
  u32 seen;
  tie_codes(block, by.way, codes, seen);
}
#if !DIECAST_HOST
DIECAST_DEVICE void find_codes_of_columns(bf16, const u32* w, const TieScale& by, const TieScale& other, u32& first,
                                          u32& second) {
  tie_codes_of_columns(w, by.way, other.way, first, second);
}
#endif

}  // namespace diecast
