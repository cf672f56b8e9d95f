// NVFP4 codes back to numbers, one or eight at a time, in one of two stated forms. Each product is
// one rounding.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/eight.h>

namespace diecast {

// What a block's codes stand for. `Decode`: (e2m1 * scale) * of_all, of_all = 1 / S. Else e2m1 *
// ((scale * of_all) * fl(1 / (6 * Bound))), of_all an amax.
template <bool Decode, int Bound>
struct Nvfp4Values {
  f32 scale, of_all;

  DIECAST_DEVICE Nvfp4Values(e4m3 of_block, f32 all) : scale(f32_from_e4m3(of_block)), of_all(all) {
    constexpr f32 kOverLargest = Bound == 448 ? 0x1.861862p-12f : 0x1.555556p-11f;
    if constexpr (!Decode) of_all = __fmul_rn(__fmul_rn(scale, of_all), kOverLargest);
  }
  // Of the lowest four bits.
  DIECAST_DEVICE f32 of(u32 code) const {
    const f32 value = f32_from_e2m1(code);
    return __fmul_rn(Decode ? __fmul_rn(value, scale) : value, of_all);
  }
};

template <class OUT, bool Decode, int Bound>
DIECAST_DEVICE Eight<OUT> nvfp4_values(u32 eight_codes, e4m3 of_block, f32 of_all) {
  const Nvfp4Values<Decode, Bound> block(of_block, of_all);
  Eight<OUT> values;
  DIECAST_UNROLL
  for (int i = 0; i < 8; i += 2) {
    values.set_two(i, block.of(eight_codes >> (4 * i)), block.of(eight_codes >> (4 * i + 4)));
  }
  return values;
}

}  // namespace diecast
