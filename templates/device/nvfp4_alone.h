// A block of 16 that one thread quantizes by itself in profile te under an amax, once. Where nothing converts to E2M1 by
// itself nothing is cut off that need not be (nvfp4_ordinary.h).
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/nvfp4_share.h>
#include <diecast/device/ordinary_codes.h>

namespace diecast {

#if !DIECAST_HOST
// A block that is not ordinary: called, and read again element by element, for the sake of the compiler's time.
template <class IN>
DIECAST_DEVICE_CALL QuantizedShare<1> quantize_seldom(const IN* from, f32 of_tensor) {
  f32 amax = 0.0f;
DIECAST_NO_UNROLL
  for (int i = 0; i < 16; ++i) amax = fmaxf(amax, fabsf(to_f32(from[i])));
  const Nvfp4Global global = nvfp4_global_of_any(of_tensor);
  const ScaleAndFactor by(nvfp4_block_scale(amax, global), global);
  u64 codes = 0;
DIECAST_NO_UNROLL
  for (int i = 0; i < 16; ++i) codes = codes >> 4 | u64{seldom_code(__fmul_rn(to_f32(from[i]), by.factor))} << 60;
  return {codes, by.scale};
}
#endif

// `from`: where the block was loaded from.
template <class IN, int Lanes>
DIECAST_DEVICE QuantizedShare<Lanes> quantize_alone(const IN* from, const ShareOfBlock<IN, Lanes>& share, f32 of_tensor) {
  static_assert(Lanes == 1, "neighbours share a block by quantize_share()");
#if !DIECAST_HOST
  if constexpr (kHasOrdinary<typename LoadedElement<IN>::Type, kProfileTe, kGlobalAmax, 0>) {
    const OrdinaryGlobal global = {nvfp4_global_of_ordinary(of_tensor), nvfp4_is_ordinary(of_tensor) ? 7.0f : 0.0f};
    const OrdinaryScale by(amax_with_nan(share.block), global);
    if (!by.is_ordinary) return quantize_seldom(from, of_tensor);
    u32 codes[2];
    find_codes(share.block, by, codes);
    return {codes[0] | u64{codes[1]} << 32, by.scale};
  }
#endif
  return quantize_share(share, share.largest(), of_tensor);
}

}  // namespace diecast
