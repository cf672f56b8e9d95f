// NVFP4 codes back to numbers, eight at a time, in one of two stated forms. Each product is one
// rounding.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/eight.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// `Decode`: (e2m1 * scale) * of_all, of_all = 1 / S. Else e2m1 * ((scale * of_all) * fl(1 / (6 *
// Bound))), of_all an amax.
template <class OUT, bool Decode, int Bound>
DIECAST_DEVICE Eight<OUT> nvfp4_values(u32 eight_codes, e4m3 of_block, f32 of_all) {
  const f32 scale = f32_from_e4m3(of_block);
  if constexpr (!Decode) {
    constexpr f32 kOverLargest = Bound == 448 ? 0x1.861862p-12f : 0x1.555556p-11f;
    of_all = __fmul_rn(__fmul_rn(scale, of_all), kOverLargest);
  }
  Eight<OUT> values;
DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) {
    const f32 value = f32_from_e2m1(eight_codes >> (4 * i));
    values.set(i, __fmul_rn(Decode ? __fmul_rn(value, scale) : value, of_all));
  }
  return values;
}

}  // namespace diecast
