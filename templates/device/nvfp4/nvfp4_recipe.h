// What a template's options make of one block of 16: profile, what is given of the global scale,
// four over six with its bound, given block amaxes. One interface for all of them:
//   global(given)                        what a tensor's or a row's number says, once for its blocks
//   amax(block)                          with the profile's rule for NaN
//   quantize(block[, amax], global)      under the block's own amax or another one (four over six: its
//                                        own)
//   round(block, global, random, i, out) out's codes anew, by the random numbers of block i, under
//                                        the scale it has
#pragma once

#include <diecast/device/blocks/stochastic.h>
#include <diecast/device/nvfp4/four_over_six.h>
#include <diecast/device/nvfp4/nvfp4.h>
#include <diecast/device/nvfp4/nvfp4_profiles.h>

namespace diecast {

// Profile te under a global scale that is given, or under none: S = 1. S is at most the largest
// float, and 1 where it is 0; a decode scale is used as it is. Nothing is known of what a caller
// gives, so the short cuts of nvfp4.h, which know S to come of an amax, are not taken.
template <int Global>
DIECAST_DEVICE Nvfp4Global nvfp4_global_given(f32 given) {
  if constexpr (Global == GLOBAL_none) return {DIECAST_SIXTH, 1.0f};
  f32 encode = fminf(Global == GLOBAL_decode ? quotient(1.0f, given) : given, kLargest);
  if (encode == 0.0f) encode = 1.0f;
  const f32 decode = Global == GLOBAL_decode ? given : quotient(1.0f, encode);
  return {__fmul_rn(encode, DIECAST_SIXTH), decode};
}

template <class IN>
DIECAST_DEVICE Nvfp4Block quantize_given_block(const Block16<IN>& block, f32 block_amax, const Nvfp4Global& global) {
  const f32 scaled = fminf(__fmul_rn(block_amax, global.encode_sixth), kLargest);
  Nvfp4Block out = {{0, 0}, e4m3_from_f32(scaled)};
  const f32 step = __fmul_rn(f32_from_e4m3(out.scale), global.decode);
  codes_of(block, factor_of_step(step), out.codes);
  return out;
}

// By PROFILE, GLOBAL, FOUR_OVER_SIX and BOUND.
template <int Profile, int Global, int FourOver, int Bound, bool BlockAmax>
struct Nvfp4Recipe {
  static constexpr bool kIgnoresNan = Profile == PROFILE_te || Profile == PROFILE_te_fast || kIsFlashinfer<Profile>;

  DIECAST_DEVICE static auto global(f32 given) {
    if constexpr (FourOver != FOUR_OVER_SIX_off) {
      return four_over_six_global<Bound>(given);
    } else if constexpr (Profile != PROFILE_te) {
      return profile_global<Profile, Global, Bound, BlockAmax>(given);
    } else if constexpr (Global != GLOBAL_amax) {
      return nvfp4_global_given<Global>(given);
    } else {
      return nvfp4_global(given);
    }
  }

  template <class IN>
  DIECAST_DEVICE static f32 amax(const Block16<IN>& block) {
    if constexpr (kIgnoresNan) {
      return amax_of(block);
    } else {
      return amax_or_nan(block);
    }
  }

  template <class IN, class OfTensor>
  DIECAST_DEVICE static Nvfp4Block quantize(const Block16<IN>& block, const OfTensor& global) {
    return quantize(block, FourOver != FOUR_OVER_SIX_off ? 0.0f : amax(block), global);
  }

  template <class IN, class OfTensor>
  DIECAST_DEVICE static Nvfp4Block quantize(const Block16<IN>& block, f32 block_amax, const OfTensor& global) {
    if constexpr (FourOver != FOUR_OVER_SIX_off) {
      return four_over_six<FourOver == FOUR_OVER_SIX_mse, Bound>(block, global);
    } else if constexpr (Profile != PROFILE_te) {
      return quantize_profile_block<Profile, Global, Bound, BlockAmax>(block, block_amax, global);
    } else if constexpr (Global != GLOBAL_amax) {
      return quantize_given_block(block, block_amax, global);
    } else {
      return nvfp4_block(block, block_amax, global);
    }
  }

  // Four over six of f32 amid other long code, a transform or random numbers, is called: a compiler takes less time for
  // it so.
  template <bool AmidLong, class IN, class OfTensor>
  DIECAST_DEVICE static Nvfp4Block quantize_amid(const Block16<IN>& block, f32 block_amax, const OfTensor& global) {
    if constexpr (AmidLong && FourOver != FOUR_OVER_SIX_off && bits<IN>() == 32) {
      return four_over_six_called<FourOver == FOUR_OVER_SIX_mse, Bound>(block, global);
    } else {
      return quantize(block, block_amax, global);
    }
  }

  // The scale alone, of profiles that make it of the amax: for what is rounded by random numbers, where codes that a
  // call makes would not be dead code.
  template <class OfTensor>
  DIECAST_DEVICE static e4m3 scale(f32 block_amax, const OfTensor& global) {
    return profile_block_scale<Profile, Global, Bound, BlockAmax>(block_amax, global);
  }

  // What a block's elements are multiplied by (modelopt: divided by) under a scale.
  template <class OfTensor>
  DIECAST_DEVICE static f32 factor(e4m3 scale, const OfTensor& global) {
    if constexpr (Profile != PROFILE_te) {
      return profile_factor<Profile>(scale, global);
    } else if constexpr (FourOver != FOUR_OVER_SIX_off || Global != GLOBAL_amax) {
      return factor_of_step(__fmul_rn(f32_from_e4m3(scale), global.decode));
    } else {
      return nvfp4_encode_factor(scale, global);
    }
  }

  // What is rounded by random numbers: an element under its factor.
  DIECAST_DEVICE static f32 rounded_value(f32 x, f32 times) {
    if constexpr (Profile != PROFILE_te) return profile_value<Profile>(x, times);
    return __fmul_rn(x, times);
  }

  // The nearest codes, which only four over six looks at, are dead code elsewhere. Random numbers
  // come behind the first half's products: those may be calls, and registers are few around them.
  // Rolled: loops, which are shorter to compile and a little slower.
  template <bool Rolled = false, class IN, class OfTensor, class Random>
  DIECAST_DEVICE static void round(const Block16<IN>& block, const OfTensor& global, const Random& random, i64 index,
                                   Nvfp4Block& out) {
    if constexpr (Profile == PROFILE_pr546) {
      if (global.encode == 0.0f) return;
    }
    const f32 times = factor(out.scale, global);
    Block16<IN> left = block;
    RandomWords words = {};
    DIECAST_UNROLL_TIMES(Rolled ? 1 : 2)
    for (int half = 0; half < 2; ++half) {
      f32 y[8] = {};
      DIECAST_UNROLL_TIMES(Rolled && Profile == PROFILE_modelopt ? 1 : 4)
      for (int i = 0; i < 8; i += 2, left.drop_two()) {
        DIECAST_UNROLL
        for (int j = 0; j < 6; ++j) y[j] = y[j + 2];
        y[6] = rounded_value(left.element(0), times), y[7] = rounded_value(left.element(1), times);
      }
      if (half == 0) words = random.template of_block<Rolled>(index);
      out.codes[0] = out.codes[1];
      out.codes[1] = stochastic_codes(y, words.words[0], words.words[1]);
      words = {{words.words[2], words.words[3]}};
    }
  }
};

}  // namespace diecast
