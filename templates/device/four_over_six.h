// Four over six, of profile te: a block is quantized under two scales, its largest element becoming
// 6 or 4, and the one with the smaller error stays. The order of every sum is part of the result.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/nvfp4.h>

namespace diecast {

struct FourOverSixGlobal {
  f32 encode;  // S
  f32 decode;  // 1 / S
  f32 amax;
};

// S = min(6 * Bound / amax, largest float), 1 when that is 0 or amax is 0; Bound is 448 or 256.
template <int Bound>
DIECAST_DEVICE FourOverSixGlobal four_over_six_global(f32 amax) {
  f32 encode = fminf(quotient(6.0f * Bound, amax), kLargest);
  if (amax == 0.0f || encode == 0.0f) encode = 1.0f;
  return {encode, quotient(1.0f, encode), amax};
}

// Both ways to quantize a block, and what each loses.
struct FourOverSix {
  Nvfp4Block four, six;
  f32 error_four, error_six;

  // Ties and errors that are NaN go to six.
  DIECAST_DEVICE Nvfp4Block chosen() const { return error_four < error_six ? four : six; }
};

// min(1 / step, largest float) of any step: reciprocal() wants one of at most 2^126.
DIECAST_DEVICE f32 factor_of_step(f32 step) { return fminf(quotient(1.0f, step), kLargest); }

// Whether quotient_by() may stand for the divisions of a block under this amax: no product of it
// with a scale and a code overflows, and none but 0 is tiny.
DIECAST_DEVICE bool is_ordinary(const FourOverSixGlobal& global) {
  return global.amax >= 0x1p-40f && global.amax <= 0x1p100f;
}

template <bool Squares>
DIECAST_DEVICE f32 plus_error(f32 sum, f32 decoded, f32 element) {
  const f32 lost = __fsub_rn(decoded, element);
  return __fadd_rn(sum, Squares ? __fmul_rn(lost, lost) : fabsf(lost));
}

// The error of codes under any amax: seldom, so the shortest code.
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE f32 any_error(Block16<IN> block, const u32 (&codes)[2], f32 scale, f32 amax) {
  f32 error = 0.0f;
  u64 left = u64{codes[1]} << 32 | codes[0];
DIECAST_NO_UNROLL
  for (int i = 0; i < 16; ++i) {
    const f32 units = __fmul_rn(f32_from_e2m1(static_cast<u32>(left) & 15u), scale);
    error = plus_error<Squares>(error, quotient(__fmul_rn(units, amax), 6.0f * Bound),
                                block.element(0));
    left >>= 4;
    block.drop_first();
  }
  return error;
}

// The block under the scale nearest to `wanted`; the sum of |error| or error^2 in the elements'
// order, each step one rounding. Magnitudes do for it: a code has its element's sign.
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE Nvfp4Block four_over_six_candidate(const Block16<IN>& block, f32 wanted,
                                                  const FourOverSixGlobal& global, f32& error) {
  Nvfp4Block out = {{0, 0}, e4m3_from_f32(fminf(wanted, 448.0f))};
  const f32 scale = f32_from_block_scale(out.scale);
  const f32 step = __fmul_rn(scale, global.decode);
  if (!is_ordinary(global)) {
    encode_block(block, factor_of_step(step), out.codes);
    error = any_error<Squares, Bound>(block, out.codes, scale, global.amax);
    return out;
  }
  const f32 factor = reciprocal(step);
  error = 0.0f;
DIECAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    f32 y[8], v[8];
DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) y[i] = __fmul_rn(block.element(8 * half + i), factor);
    out.codes[half] = e2m1_codes_and_magnitudes(y, v);
DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      const f32 units = __fmul_rn(v[i], scale);
      const f32 decoded = quotient_by<6 * Bound>(__fmul_rn(units, global.amax));
      error = plus_error<Squares>(error, decoded, fabsf(block.element(8 * half + i)));
    }
  }
  return out;
}

// The scale that is tried for a block or a 16x16 tile, before it is rounded to E4M3.
DIECAST_DEVICE f32 wanted_scale(f32 amax, bool four, const FourOverSixGlobal& global) {
  const f32 sixth = is_ordinary(global) ? quotient_by<6>(amax) : quotient(amax, 6.0f);
  const f32 base = __fmul_rn(sixth, global.encode);
  return four ? __fmul_rn(base, 1.5f) : base;
}

// The candidate by a call, for kernels that need it at several places: compiled once.
struct FourOverSixCandidate {
  Nvfp4Block block;
  f32 error;
};
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE_CALL FourOverSixCandidate four_over_six_once(Block16<IN> block, f32 wanted,
                                                            FourOverSixGlobal global) {
  FourOverSixCandidate out;
  out.block = four_over_six_candidate<Squares, Bound>(block, wanted, global, out.error);
  return out;
}

// `block_amax` is the block's own, or that of the 16x16 tile it is a row of: then the tile's errors
// are the rows' added up as a tree (row r + 8 to row r, then 4, 2, 1), and one choice serves all.
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE FourOverSix four_over_six(const Block16<IN>& block, f32 block_amax,
                                         const FourOverSixGlobal& global) {
  const f32 base = wanted_scale(block_amax, false, global);
  FourOverSix both = {};
DIECAST_NO_UNROLL
  for (int pass = 0; pass < 2; ++pass) {  // one copy of long code
    both.four = both.six;
    both.error_four = both.error_six;
    const f32 wanted = pass == 0 ? __fmul_rn(base, 1.5f) : base;
    both.six = four_over_six_candidate<Squares, Bound>(block, wanted, global, both.error_six);
  }
  return both;
}

}  // namespace diecast
