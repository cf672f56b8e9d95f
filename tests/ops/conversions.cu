// conversions: what a device conversion makes of the floats with the bits first, first + 1, ...
/* diecast
option   enum  TO      {e2m1, e4m3, e5m2, e8m0, bf16, f16}
option   enum  FORM    {target, plain, block, magnitude} = target  // block, magnitude: E2M1 as quantizers make it
tune     int   THREADS {256} = 256
size     count
arg      first u32
arg      out   out u32  [count]
arg      count
arg      one   f32                                       // 1, where the compiler cannot know it
launch   grid(min(ceil_div(count, THREADS), sm_count * 64)) block(THREADS)
require  TO == e2m1 || FORM in {target, plain}  // quantizers have E2M1 of their own
target   host, sm_80+
exchange none
sample   count {256}
*/
#include <diecast/device/blocks/block16.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/e5m2.h>
#include <diecast/device/numbers/e8m0.h>

DIECAST_DEVICE u32 converted(f32 x) {
  constexpr bool PLAIN = FORM == FORM_plain;
  if constexpr (FORM == FORM_magnitude) {
    return e2m1_magnitude(x) & 7u | (x == x ? __float_as_uint(x) >> 28 & 8u : 0);
  } else if constexpr (TO == TO_e2m1) {
    return PLAIN ? e2m1_from_f32_plain(x) : e2m1x2_from_f32(x, 0.0f) & 15u;
  } else if constexpr (TO == TO_e4m3) {
    return (PLAIN ? e4m3_from_f32_plain(x) : e4m3_from_f32(x)).bits;
  } else if constexpr (TO == TO_e5m2) {
    return (PLAIN ? e5m2_from_f32_plain(x) : e5m2_from_f32(x)).bits;
  } else if constexpr (TO == TO_e8m0) {
    return (PLAIN ? e8m0_from_f32_up_plain(x) : e8m0_from_f32_up(x)).bits;
  } else if constexpr (TO == TO_bf16) {
    return (PLAIN ? bf16_from_f32_plain(x) : from_f32<bf16>(x)).bits;
  } else {
    return (PLAIN ? f16_from_f32_plain(x) : from_f32<f16>(x)).bits;
  }
}

// Sixteen neighbours as a block of them is quantized; count is a multiple of 16.
DIECAST_DEVICE void convert_block(u32 from, f32 factor, u32* to) {
  Block16<f32> block;
  for (int i = 0; i < 16; ++i) block.words[i] = from + i;
  u32 codes[2];
  codes_of(block, factor, codes);
  for (int i = 0; i < 16; ++i) to[i] = codes[i / 8] >> (i % 8 * 4) & 15u;
}

DIECAST_KERNEL {
  if constexpr (FORM == FORM_block) {
    for (i64 i = i64{blockIdx.x} * THREADS + threadIdx.x; i < count / 16;
         i += i64{gridDim.x} * THREADS) {
      convert_block(first + static_cast<u32>(i * 16), one, out + i * 16);
    }
    return;
  }
  for (i64 i = i64{blockIdx.x} * THREADS + threadIdx.x; i < count; i += i64{gridDim.x} * THREADS) {
    out[i] = converted(__uint_as_float(first + static_cast<u32>(i)));
  }
}
