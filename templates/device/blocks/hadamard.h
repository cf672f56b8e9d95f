// The random Hadamard transform of sixteen neighbours: signs, butterflies of stride 1, 2, 4, 8, times
// 0.25, each sum one f32 rounding; the result is rounded to the input type. Its own inverse but for
// the signs. What an amax is taken of is the rounded result.
/* diecast
option int SIGN_MASK = 0                      // bit i flips the sign of element i of 16 before the transform
require TRANSFORMED || SIGN_MASK == 0         // signs belong to the transform: RHT
require SIGN_MASK >= 0 && SIGN_MASK < 65536   // one bit for each of 16 elements
require !TRANSFORMED || IN != e4m3            // a transform is rounded to x's type: bf16, f16 or f32
sample SIGN_MASK {0, 55272}
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16_data.h>

namespace diecast {

// In place and not rounded to any type. Bit i of `signs` is set where x[i] changes its sign first. Each round takes
// neighbours and puts sums before differences, which turns an index by a bit: neighbours are as far apart as its stride
// then, and after four rounds all are where they were. Rolled: in a loop, which is shorter to compile.
template <bool Rolled = false>
DIECAST_DEVICE void hadamard16(f32 (&x)[16], u32 signs) {
  DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) {
    x[i] = __uint_as_float(__float_as_uint(x[i]) ^ (signs >> i & 1u) << 31);
  }
  DIECAST_UNROLL_TIMES(Rolled ? 1 : 4)
  for (int round = 0; round < 4; ++round) {
    f32 y[16];
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      y[i] = __fadd_rn(x[2 * i], x[2 * i + 1]);
      y[i + 8] = __fsub_rn(x[2 * i], x[2 * i + 1]);
    }
    DIECAST_UNROLL
    for (int i = 0; i < 16; ++i) x[i] = y[i];
  }
  DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) x[i] = __fmul_rn(x[i], 0.25f);
}

template <bool Rolled = false, class IN>
DIECAST_DEVICE Block16<IN> hadamard16(const Block16<IN>& block, u32 signs) {
  f32 x[16];
  DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) x[i] = block.element(i);
  hadamard16<Rolled>(x, signs);
  return block16_of<IN>(x);
}

}  // namespace diecast
