// decode_scale: the scales that a checkpoint stores beside a weight's codes and block scales, from its amax in device memory:
// its decode scale, or with RECIPROCAL one over that, rounded once more; and, with INPUT, the number by which engines scale
// its inputs.
/* diecast
use      <diecast/device/blocks/profiles.h>              // PROFILE
option   int   BOUND {448, 256} = 448                    // block scale that the global scale aims at
option   bool  RECIPROCAL = false                        // scales has 1 / the decode scale
option   bool  INPUT = true                              // inputs is written
tune     int   THREADS {32} = 32
size     count
arg      amax    in   f32  [count]
arg      scales  out  f32  [count]
arg      inputs  out  f32  [INPUT ? count : 0]
arg      count
arg      input   f32
require  !FLASHINFER && PROFILE != te_fast               // checkpoints have the other profiles
require  BOUND == 448 || PROFILE in {te, modelopt}       // bound 256 is defined by te with four over six, and by modelopt
launch   grid(ceil_div(count, THREADS)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   count {0, 1, 33}
*/
#include <diecast/device/numbers/quotient.h>

// modelopt, torchao: amax times the rounded 1 / (6 * BOUND). Others: 1 / S with S = min(6 * BOUND / amax, largest float), or
// 1 where that is 0 or, but for te_ref, amax is 0. Only te has left NaN out.
DIECAST_DEVICE f32 decode_scale_of(f32 amax) {
  if constexpr (PROFILE == PROFILE_modelopt || PROFILE == PROFILE_torchao)
    return __fmul_rn(amax, BOUND == 448 ? 0x1.861862p-12f : 0x1.555556p-11f);
  if (PROFILE != PROFILE_te && amax != amax) return amax;
  f32 encode = fminf(quotient(6.0f * BOUND, amax), 3.4028234663852886e38f);
  if (encode == 0.0f || (PROFILE != PROFILE_te_ref && amax == 0.0f)) encode = 1.0f;
  return quotient(1.0f, encode);
}

DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * THREADS + threadIdx.x;
  if (i >= count) return;
  const f32 decode = decode_scale_of(amax[i]);
  const f32 scale = RECIPROCAL ? quotient(1.0f, decode) : decode;
  scales[i] = scale == scale ? scale : NAN;  // one NaN on every processor
  if constexpr (INPUT) inputs[i] = input;
}
