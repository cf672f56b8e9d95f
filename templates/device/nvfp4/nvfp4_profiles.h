// NVFP4 in the profiles beside te: pr546, modelopt, torchao, te_ref and those of
// nvfp4_engine_profiles.h. Each is a way to make three numbers of the global scale, a byte of a
// block's amax, a factor of the byte, and codes of the elements; the formulas stand in
// templates/PROFILES.md. Every operation is one f32 rounding, in this order.
#pragma once

#include <diecast/device/blocks/block16.h>
#include <diecast/device/numbers/e2m1_codes.h>
#include <diecast/device/numbers/pairs.h>
#include <diecast/device/numbers/quotient.h>
#include <diecast/device/nvfp4/nvfp4.h>
#include <diecast/device/nvfp4/nvfp4_engine_profiles.h>
#include <diecast/device/nvfp4/nvfp4_options.h>

namespace diecast {

template <int Profile>
constexpr bool kIsFlashinferDsl = Profile == PROFILE_flashinfer_dsl_exact || Profile == PROFILE_flashinfer_dsl_fast;
template <int Profile>
constexpr bool kIsFlashinfer =
    kIsFlashinferDsl<Profile> || Profile == PROFILE_flashinfer_exact || Profile == PROFILE_flashinfer_fast;

// What others call, and may name where they do not.
template <int Profile, int Global, int Bound, bool Static>
DIECAST_DEVICE ProfileGlobal profile_global(f32 given);
template <int Profile, int Global, int Bound, bool Static>
DIECAST_DEVICE e4m3 profile_block_scale(f32 block_amax, const ProfileGlobal& global);
template <int Profile>
DIECAST_DEVICE f32 profile_factor(e4m3 block_scale, const ProfileGlobal& global);
template <int Profile>
DIECAST_DEVICE f32 profile_value(f32 x, f32 factor);
template <int Profile, int Global, int Bound, bool Static, class IN>
DIECAST_DEVICE Nvfp4Block quantize_profile_block(const Block16<IN>& block, f32 block_amax, const ProfileGlobal& global);

#if !DIECAST_NO_PROFILE

// FlashInfer has no amax but a row's.
template <int Profile, int Global>
using FlashinferOf = Flashinfer<Profile == PROFILE_flashinfer_fast || Profile == PROFILE_flashinfer_dsl_fast,
                                !kIsFlashinferDsl<Profile>, Global == GLOBAL_amax>;

// 0 / 0 counts as 0: what is all zeros has zeros for codes, not NaN.
DIECAST_DEVICE f32 quotient_or_zero(f32 a, f32 b) { return a == 0.0f && b == 0.0f ? 0.0f : quotient(a, b); }

// S of what Global says is given, at most the largest float; 0 becomes 1, NaN stays.
template <int Global>
DIECAST_DEVICE f32 encode_scale_of(f32 given) {
  const f32 encode = Global == GLOBAL_amax ? quotient(2688.0f, given) : Global == GLOBAL_decode ? quotient(1.0f, given) : given;
  if (encode > kLargest) return kLargest;
  return encode == 0.0f ? 1.0f : encode;
}

// ProfileGlobal of a tensor or a row. pr546: encode = S, decode = 1 / S; encode = 0 stands for an
// amax of 0. te_ref: encode = S * fl(1/6), decode = 1 / S. modelopt: decode = scale_2, encode = what
// divides a block's amax. torchao: decode = the per-tensor scale, encode = 1 / decode.
// `given` is what Global says. Static: block amaxes are given too; Bound is 448 or 256 (modelopt).
template <int Profile, int Global, int Bound, bool Static>
DIECAST_DEVICE ProfileGlobal profile_global(f32 given) {
  if constexpr (Profile == PROFILE_te_fast) {
    return te_fast_global(given);
  } else if constexpr (kIsFlashinfer<Profile>) {
    return FlashinferOf<Profile, Global>::global(given);
  } else if constexpr (Profile == PROFILE_pr546) {
    if (Global == GLOBAL_amax && given == 0.0f) return {0.0f, 0.0f};
    const f32 encode = encode_scale_of<Global>(given);
    return {encode, Global == GLOBAL_decode ? given : quotient(1.0f, encode)};
  } else if constexpr (Profile == PROFILE_te_ref) {
    const f32 encode = encode_scale_of<Global>(given);
    return {__fmul_rn(encode, DIECAST_SIXTH), Global == GLOBAL_decode ? given : quotient(1.0f, encode)};
  } else {
    // fl(1 / (6 * Bound))
    constexpr f32 kFactor = Bound == 448 ? 0x1.861862p-12f : 0x1.555556p-11f;
    const f32 decode = Global == GLOBAL_none ? 1.0f : Global == GLOBAL_amax ? __fmul_rn(given, kFactor) : given;
    if constexpr (Profile == PROFILE_torchao) return {quotient(1.0f, decode), decode};
    return {__fmul_rn(Static ? given : decode, Static ? DIECAST_SIXTH : 6.0f), decode};
  }
}

template <int Profile, int Global, int Bound, bool Static>
DIECAST_DEVICE e4m3 profile_block_scale(f32 block_amax, const ProfileGlobal& global) {
  f32 scale = 0.0f;
  f32 smallest = 0.0f;
  if constexpr (kIsFlashinfer<Profile>) {
    return FlashinferOf<Profile, Global>::block_scale(block_amax, global);
  } else if constexpr (Profile == PROFILE_te_fast) {
    scale = __fmul_rn(block_amax, global.decode);
  } else if constexpr (Profile == PROFILE_te_ref) {
    scale = __fmul_rn(block_amax, global.encode);
  } else if constexpr (Profile == PROFILE_pr546) {
    scale = __fmul_rn(quotient(block_amax, 6.0f), global.encode);
  } else if constexpr (Profile == PROFILE_torchao) {
    scale = quotient(__fmul_rn(block_amax, DIECAST_SIXTH), global.decode);
    smallest = 0x1p-6f;
  } else if constexpr (Static) {
    const f32 sixth = __fmul_rn(block_amax, DIECAST_SIXTH);
    scale = quotient(__fmul_rn(sixth == 0.0f ? 1.0f : sixth, 1.0f * Bound), global.encode);
    smallest = 0x1p-9f;
  } else {
    scale = quotient_or_zero(block_amax, global.encode);
    if (scale == 0.0f) scale = 1.0f;
    smallest = 0x1p-9f;
  }
  // Where a profile has no smallest scale, one of a negative amax that is given keeps its sign.
  return e4m3_from_f32(smallest > 0.0f && scale < smallest ? smallest : scale);
}

// What elements are multiplied by (modelopt: divided by) before they are rounded to E2M1.
template <int Profile>
DIECAST_DEVICE f32 profile_factor(e4m3 block_scale, const ProfileGlobal& global) {
  if constexpr (Profile == PROFILE_te_fast) return te_fast_factor(block_scale, global);
  const f32 scale = f32_from_e4m3(block_scale);
  if constexpr (Profile == PROFILE_torchao) return quotient(global.encode, scale);
  const f32 step = __fmul_rn(scale, global.decode);
  if constexpr (Profile == PROFILE_te_ref) {
    const f32 factor = quotient(1.0f, step);
    return factor > kLargest ? kLargest : factor;  // NaN stays
  }
  return Profile == PROFILE_pr546 ? quotient(1.0f, step) : step;
}

// The value that is rounded. pr546, te_ref: zeros of either sign and NaN have code 0. modelopt: -0 too, NaN
// has code 7; te_fast: the same. torchao: as te.
template <int Profile>
DIECAST_DEVICE f32 profile_value(f32 x, f32 factor) {
  if constexpr (Profile == PROFILE_modelopt) return __fadd_rn(quotient_or_zero(x, factor), 0.0f);
  if constexpr (kIsFlashinfer<Profile>) return FlashinferOf<Profile, GLOBAL_encode>::product(x, factor);
  const f32 y = __fmul_rn(x, factor);
  if constexpr (Profile == PROFILE_te_fast) return __fadd_rn(y, 0.0f);
  return Profile == PROFILE_torchao || fabsf(y) > 0.0f ? y : 0.0f;
}

// Codes of a block's elements divided by `step`, of any step, one after another: seldom.
template <class IN>
DIECAST_DEVICE_CALL u64 modelopt_codes_of_any(Block16<IN> block, f32 step) {
  u64 codes = 0;
  DIECAST_NO_UNROLL
  for (int i = 0; i < 64; i += 4) {
    const f32 y = profile_value<PROFILE_modelopt>(block.element(0), step);
    codes |= u64{e2m1_from_f32_plain(y)} << i;
    block.drop_first();
  }
  return codes;
}

#if !DIECAST_HOST

// By the step's inverse, where it is ordinary. Elements are cut off at 6 steps first, NaN at the upper
// end. A negative element keeps its sign but where the quotient is -0: of -0, and of what the
// quotient of is too small for a float, which only an f32 by such a step can be.
template <class IN>
DIECAST_DEVICE void modelopt_codes(Block16<IN> block, f32 step, u32 (&codes)[2]) {
  constexpr int kBits = bits<IN>();
  constexpr bool kHalf = dtype_id<IN> == dtype_id<f16>;
  if (!has_inverse<(kHalf ? -17 : -90), (kHalf ? 13 : kBits == 16 ? 16 : 120)>(step)) {
    const u64 any = modelopt_codes_of_any(block, step);
    codes[0] = static_cast<u32>(any);
    codes[1] = static_cast<u32>(any >> 32);
    return;
  }
  const f32 inverse = inverse_of(step), limit = __fmul_rn(step, 6.0f);
  const f32 tiny = __fmul_rd(__fmul_rd(step, 0x1p-149f), 0.5f);  // step * 2^-150 or just below
  if constexpr (kBits == 16) {
    const u32 limits = pair_from_f32<IN>(limit, limit);
    DIECAST_UNROLL
    for (int w = 0; w < 8; ++w) block.words[w] = limited_pair<IN, true>(block.words[w], limits);
  }
  DIECAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    f32 y[8];
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      f32 x = block.element(8 * half + i);
      if constexpr (kBits == 32) x = fmaxf(fminf(x, limit), -limit);
      y[i] = quotient_for_e2m1(x, step, inverse);
      if constexpr (kBits == 32) y[i] = fabsf(x) <= tiny ? 0.0f : y[i];
    }
    codes[half] = e2m1_codes(y);
  }
}

#endif

// A block under a given amax: its own (amax_or_nan), or that of a 16x16 tile it is a row of.
template <int Profile, int Global, int Bound, bool Static, class IN>
DIECAST_DEVICE Nvfp4Block quantize_profile_block(const Block16<IN>& block, f32 block_amax, const ProfileGlobal& global) {
  if (Profile == PROFILE_pr546 && global.encode == 0.0f) return {{0, 0}, {0}};
  Nvfp4Block out = {{0, 0}, profile_block_scale<Profile, Global, Bound, Static>(block_amax, global)};
  f32 factor;
  if constexpr (kIsFlashinfer<Profile>) {
    factor = FlashinferOf<Profile, Global>::factor(block_amax, out.scale, global);
  } else {
    factor = profile_factor<Profile>(out.scale, global);
  }
#if !DIECAST_HOST
  if constexpr (Profile == PROFILE_modelopt) {
    modelopt_codes(block, factor, out.codes);
  } else
#endif
  {
    DIECAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      f32 y[8];
      DIECAST_UNROLL
      for (int i = 0; i < 8; ++i) y[i] = profile_value<Profile>(block.element(8 * half + i), factor);
      out.codes[half] = e2m1_codes(y);
    }
  }
  return out;
}

#endif

}  // namespace diecast
