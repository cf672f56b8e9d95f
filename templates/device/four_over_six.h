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

// The block under the scale nearest to `wanted`; the sum of |error| or error^2 in the elements'
// order, each step one rounding.
template <bool Squares, int Bound, class IN>
DIECAST_DEVICE Nvfp4Block four_over_six_candidate(const Block16<IN>& block, f32 wanted,
                                                  const FourOverSixGlobal& global, f32& error) {
  Nvfp4Block out = {{0, 0}, e4m3_from_f32(fminf(wanted, 448.0f))};
  const f32 scale = f32_from_e4m3(out.scale);
  encode_block(block, factor_of_step(__fmul_rn(scale, global.decode)), out.codes);
  error = 0.0f;
DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) {
    const f32 units = __fmul_rn(f32_from_e2m1(out.codes[i / 8] >> (i % 8 * 4)), scale);
    const f32 decoded = quotient(__fmul_rn(units, global.amax), 6.0f * Bound);
    const f32 lost = __fsub_rn(decoded, block.element(i));
    error = __fadd_rn(error, Squares ? __fmul_rn(lost, lost) : fabsf(lost));
  }
  return out;
}

// The scale that is tried for a block or a 16x16 tile, before it is rounded to E4M3.
DIECAST_DEVICE f32 wanted_scale(f32 amax, bool four, const FourOverSixGlobal& global) {
  const f32 base = __fmul_rn(quotient(amax, 6.0f), global.encode);
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
  const f32 base = __fmul_rn(quotient(block_amax, 6.0f), global.encode);
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
