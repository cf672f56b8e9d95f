// Four over six, of profile te: a block is quantized under two scales, its largest element becoming
// 6 or 4, and the one with the smaller error stays. The order of every sum is part of the result.
#pragma once

#include <diecast/device/blocks/block16.h>
#include <diecast/device/numbers/e2m1_magnitudes.h>
#include <diecast/device/numbers/quotient.h>
#include <diecast/device/nvfp4/nvfp4.h>

namespace diecast {

struct FourOverSixGlobal {
  f32 encode;  // S
  f32 decode;  // 1 / S
  f32 amax;
};

struct FourOverSixCandidate {
  Nvfp4Block block;
  f32 error;
};

// What others call, and may name where they do not.
template <int Bound>
DIECAST_DEVICE FourOverSixGlobal four_over_six_global(f32 amax);
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE_CALL FourOverSixCandidate four_over_six_once(Block16<IN> block, f32 amax, bool four, FourOverSixGlobal global);
// Rolled: both scales by one piece of code, which is shorter to compile and a little slower.
template <bool Squares, int Bound, bool Rolled = false, class IN>
DIECAST_DEVICE Nvfp4Block four_over_six(const Block16<IN>& block, const FourOverSixGlobal& global);

template <bool Squares, int Bound, class IN>
DIECAST_DEVICE_CALL Nvfp4Block four_over_six_called(Block16<IN> block, FourOverSixGlobal global);

#if !DIECAST_NO_FOUR_OVER_SIX

// S = min(6 * Bound / amax, largest float), 1 when that is 0 or amax is 0; Bound is 448 or 256.
template <int Bound>
DIECAST_DEVICE FourOverSixGlobal four_over_six_global(f32 amax) {
  f32 encode = fminf(quotient(6.0f * Bound, amax), kLargest);
  if (amax == 0.0f || encode == 0.0f) encode = 1.0f;
  return {encode, quotient(1.0f, encode), amax};
}

// Whether quotient_by() may stand for the divisions of a block under this amax: no product of it
// with a scale and a code overflows, and none but 0 is tiny.
DIECAST_DEVICE bool is_ordinary(const FourOverSixGlobal& global) { return global.amax >= 0x1p-40f && global.amax <= 0x1p100f; }

template <bool Squares>
DIECAST_DEVICE f32 plus_error(f32 sum, f32 decoded, f32 element) {
  const f32 lost = __fsub_rn(decoded, element);
  return __fadd_rn(sum, Squares ? __fmul_rn(lost, lost) : fabsf(lost));
}

// The error of codes, of which signs do not count, in the elements' order, each step one rounding.
// Seldom, so short code; a block of which this takes the address lies in memory.
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE_CALL f32 error_of(const Block16<IN>& block, u32 low, u32 high, f32 scale, FourOverSixGlobal global) {
  const bool ordinary = is_ordinary(global);
  f32 error = 0.0f;
  u64 codes = u64{high} << 32 | low;
  DIECAST_NO_UNROLL
  for (int i = 0; i < 16; ++i) {
    const f32 units = __fmul_rn(f32_from_e2m1(static_cast<u32>(codes) & 7u), scale);
    const f32 product = __fmul_rn(units, global.amax);
    const f32 decoded = ordinary ? quotient_by<6 * Bound>(product) : quotient(product, 6.0f * Bound);
    error = plus_error<Squares>(error, decoded, fabsf(block.element(i)));
    codes >>= 4;
  }
  return error;
}

// A block's codes under a step of any size. Seldom, too.
template <class IN>
DIECAST_DEVICE void any_codes(const Block16<IN>& block, f32 step, u32 (&codes)[2]) {
  const f32 factor = factor_of_step(step);
  u64 all = 0;
  DIECAST_NO_UNROLL
  for (int i = 0; i < 16; ++i) {
    all |= u64{e2m1_from_f32_plain(__fmul_rn(block.element(i), factor))} << (4 * i);
  }
  codes[0] = static_cast<u32>(all), codes[1] = static_cast<u32>(all >> 32);
}

// The scale that is tried for a block or a 16x16 tile, before it is rounded to E4M3.
DIECAST_DEVICE f32 wanted_scale(f32 amax, bool four, const FourOverSixGlobal& global) {
  const f32 sixth = is_ordinary(global) ? quotient_by<6>(amax) : quotient(amax, 6.0f);
  const f32 base = __fmul_rn(sixth, global.encode);
  return four ? __fmul_rn(base, 1.5f) : base;
}

// A block of any numbers under one scale, and the sum of |error| or error^2 in the elements' order, each step one
// rounding. Magnitudes do for it: a code has its element's sign. Short code, compiled once.
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE_CALL FourOverSixCandidate four_over_six_once(Block16<IN> block, f32 amax, bool four, FourOverSixGlobal global) {
  const e4m3 by = e4m3_from_f32(fminf(wanted_scale(amax, four, global), 448.0f));
  const f32 scale = f32_from_block_scale(by);
  const f32 factor = factor_of_step(__fmul_rn(scale, global.decode));
  const bool ordinary = is_ordinary(global);
  u64 codes = 0;
  f32 error = 0.0f;
  DIECAST_NO_UNROLL
  for (int i = 0; i < 16; i += 2) {
    const f32 x[2] = {block.element(0), block.element(1)};
    f32 v[2];
    const u32 pair = e2m1_pair_and_magnitudes(__fmul_rn(x[0], factor), __fmul_rn(x[1], factor), v);
    codes = codes >> 8 | u64{pair} << 56;
    DIECAST_UNROLL
    for (int j = 0; j < 2; ++j) {
      const f32 product = __fmul_rn(__fmul_rn(v[j], scale), global.amax);
      const f32 decoded = ordinary ? quotient_by<6 * Bound>(product) : quotient(product, 6.0f * Bound);
      error = plus_error<Squares>(error, decoded, fabsf(x[j]));
    }
    block.drop_two();
  }
  return {{{static_cast<u32>(codes), static_cast<u32>(codes >> 32)}, by}, error};
}

// A block of any numbers.
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE_CALL Nvfp4Block any_four_over_six(const Block16<IN>& block, FourOverSixGlobal global) {
  const f32 base = wanted_scale(amax_of(block), false, global);
  Nvfp4Block four = {}, six = {};
  f32 error_four = 0.0f, error_six = 0.0f;
  DIECAST_NO_UNROLL
  for (int pass = 0; pass < 2; ++pass) {  // one copy of long code
    four = six, error_four = error_six;
    const f32 wanted = pass == 0 ? __fmul_rn(base, 1.5f) : base;
    six.scale = e4m3_from_f32(fminf(wanted, 448.0f));
    const f32 scale = f32_from_block_scale(six.scale);
    any_codes(block, __fmul_rn(scale, global.decode), six.codes);
    error_six = error_of<Squares, Bound>(block, six.codes[0], six.codes[1], scale, global);
  }
  return error_four < error_six ? four : six;  // six where they tie or one is NaN
}

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

// a * b + c, with one rounding or two.
DIECAST_DEVICE f32 nearly_fused(f32 a, f32 b, f32 c) {
#if DIECAST_HOST
  return a * b + c;
#else
  return __fmaf_rn(a, b, c);
#endif
}

// An ordinary block under one scale: its codes without signs, and nearly its error.
struct NearCandidate {
  e4m3 scale;
  u32 codes[2];
  f32 error;
};
template <bool Squares, class IN>
DIECAST_DEVICE NearCandidate near_candidate(const Block16<IN>& block, const ScaleAndFactor& by) {
  NearCandidate out = {by.scale, {0, 0}, 0.0f};
  const auto add = [&](f32 v, f32 unit, f32 x) {
    const f32 lost = nearly_fused(v, unit, -x);
    out.error = Squares ? nearly_fused(lost, lost, out.error) : out.error + fabsf(lost);
  };
#if DIECAST_HAS_E2M1_CVT
  DIECAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    f32 y[8], v[8];
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) y[i] = __fmul_rn(fabsf(block.element(8 * half + i)), by.factor);
    out.codes[half] = e2m1_codes_and_magnitudes(y, v);
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) add(v[i], by.step, fabsf(block.element(8 * half + i)));
  }
#else
  const f32 times = __fmul_rn(by.factor, 0x1p-14f), unit = __fmul_rn(by.step, 0x1p14f);
  DIECAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    u32 pairs[4];  // elements 0 and 2, 4 and 6, 1 and 3, 5 and 7
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int at = 8 * half + i / 2 + i % 2 * 4;
      const f32 x[2] = {block.element(at), block.element(at + 2)};
      f32 v[2];
      pairs[i] = ordinary_pair(__fmul_rn(x[0], times), __fmul_rn(x[1], times), v[0], v[1]);
      DIECAST_UNROLL
      for (int j = 0; j < 2; ++j) add(v[j], unit, fabsf(x[j]));
    }
    const u32 even = __byte_perm(pairs[0], pairs[1], 0x7531);  // codes in bits 1 to 3 of bytes
    out.codes[half] = (16 * __byte_perm(pairs[2], pairs[3], 0x7531) + even) >> 1;
  }
#endif
  return out;
}

// Of nearly all blocks the errors lie so far apart that it does not matter how they are rounded. With u
// = 2^-24, a the block's amax, E the errors: a step times a code is within 7u of the exact decoded
// value, which is at most 1.21a where products are below 7; so an element's loss, at most a / 4, is
// within 8.1u * a + 2.1u of itself, and each of two sums within 17u of itself. For |error| that makes
// less than 40u (E_four + E_six) + 256u * a in both, for error^2, by 2 * loss * a <= 16 loss^2 + a^2 / 16,
// less than 170u (E_four + E_six) + 17u * a^2.
template <bool Squares>
DIECAST_DEVICE bool is_certain(f32 error_four, f32 error_six, f32 amax) {
  const f32 sum = error_four + error_six;
  const f32 margin = Squares ? 0x1p-16f * (sum + 0.125f * amax * amax) : 0x1p-18f * (sum + 4.0f * amax);
  return fabsf(error_four - error_six) > margin;
}

template <bool Squares, int Bound, bool Rolled, class IN>
DIECAST_DEVICE Nvfp4Block four_over_six(const Block16<IN>& block, const FourOverSixGlobal& global) {
  const f32 amax = amax_with_nan(block);
  const f32 wanted = __fmul_rn(quotient_by<6>(amax), global.encode);  // as wanted_scale(), of ordinary ones
  NearCandidate four = {}, six = {};
  f32 largest_factor = 0.0f;
  DIECAST_UNROLL_TIMES(Rolled ? 1 : 2)
  for (int pass = 0; pass < 2; ++pass) {
    four = six;
    const ScaleAndFactor by(pass == 0 ? __fmul_rn(wanted, 1.5f) : wanted, global.decode);
    largest_factor = fmaxf(largest_factor, by.factor);
    six = near_candidate<Squares>(block, by);
  }
  if (!(is_ordinary(global) && __fmul_rn(amax, largest_factor) < 7.0f)) {
    const Block16<IN> in_memory = block;
    return any_four_over_six<Squares, Bound>(in_memory, global);
  }
  if (four.scale.bits != six.scale.bits && !is_certain<Squares>(four.error, six.error, amax)) {
    const Block16<IN> in_memory = block;
    four.error = error_of<Squares, Bound>(in_memory, four.codes[0], four.codes[1], f32_from_block_scale(four.scale), global);
    six.error = error_of<Squares, Bound>(in_memory, six.codes[0], six.codes[1], f32_from_block_scale(six.scale), global);
  }
  const bool takes_four = four.error < six.error;
  Nvfp4Block out = {{0, 0}, takes_four ? four.scale : six.scale};
  DIECAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    out.codes[half] = signs_of(block, half) | (takes_four ? four.codes[half] : six.codes[half]);
  }
  return out;
}

template <bool Squares, int Bound, class IN>
DIECAST_DEVICE_CALL Nvfp4Block four_over_six_called(Block16<IN> block, FourOverSixGlobal global) {
  return four_over_six<Squares, Bound>(block, global);
}

#endif

}  // namespace diecast
