// Profile te for blocks as nearly all are: 16-bit elements, none of them NaN or cut off. The bits are
// Nvfp4Recipe's in fewer instructions, for kernels that those are the limit of; what is not ordinary
// goes the recipe's way.
#pragma once

#include <diecast/device/blocks/block16.h>
#include <diecast/device/nvfp4/nvfp4.h>
#include <diecast/device/nvfp4/nvfp4_profiles.h>

namespace diecast {

// Targets that convert to E2M1 themselves need no other way, and on the host a recipe's own is the
// short one (block16_host.h).
template <class IN, int Profile, int Global, int FourOver>
constexpr bool kHasOrdinary = bits<IN>() == 16 && Profile == PROFILE_te&& Global == GLOBAL_amax&& FourOver == FOUR_OVER_SIX_off &&
                              !DIECAST_HAS_E2M1_CVT && !DIECAST_HOST;

struct OrdinaryScale;

struct OrdinaryGlobal : Nvfp4Global {
  using Scale = OrdinaryScale;  // a block's under it
  f32 limit;                    // what a block's largest product must be below
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
  return with_limit<true>(
      Nvfp4Global{__shfl_sync(0xFFFFFFFFu, own.encode_sixth, lane), __shfl_sync(0xFFFFFFFFu, own.decode, lane)});
}

// A block's scale and factor under an amax, its own or a larger one, NaN if the block has NaN.
struct OrdinaryScale : ScaleAndFactor {
  bool is_ordinary;  // of such a block ordinary_codes() are the codes

  DIECAST_DEVICE OrdinaryScale(f32 amax, const OrdinaryGlobal& global)
      : ScaleAndFactor(__fmul_rn(amax, global.encode_sixth), global.decode),
        is_ordinary(fabsf(__fmul_rn(amax, factor)) < global.limit) {}  // under a negative amax it is any number
  DIECAST_DEVICE u32 number() const { return scale.bits; }             // of the scale
};

}  // namespace diecast
