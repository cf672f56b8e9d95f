// The random Hadamard transform of sixteen neighbours: signs, butterflies of stride 1, 2, 4, 8, times
// 0.25, each sum one f32 rounding; the result is rounded to the input type. Its own inverse but for
// the signs. What an amax is taken of is the rounded result.
#pragma once

#include <diecast/device/block16_data.h>
#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

template <int Stride>
DIECAST_DEVICE void butterflies(f32 (&x)[16]) {
DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) {
    if ((i & Stride) != 0) continue;
    const f32 a = x[i], b = x[i + Stride];
    x[i] = __fadd_rn(a, b);
    x[i + Stride] = __fsub_rn(a, b);
  }
}

// In place and not rounded to any type. Bit i of `signs` is set where x[i] changes its sign first.
DIECAST_DEVICE void hadamard16(f32 (&x)[16], u32 signs) {
DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) {
    x[i] = __uint_as_float(__float_as_uint(x[i]) ^ (signs >> i & 1u) << 31);
  }
  butterflies<1>(x);
  butterflies<2>(x);
  butterflies<4>(x);
  butterflies<8>(x);
DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) x[i] = __fmul_rn(x[i], 0.25f);
}

// Sixteen values rounded to the elements of a block.
template <class IN>
DIECAST_DEVICE Block16<IN> block16_of(const f32 (&x)[16]) {
  constexpr int kPerWord = 32 / bits<IN>();
  Block16<IN> block = {};
DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) {
    block.words[i / kPerWord] |= to_bits(from_f32<IN>(x[i])) << (i % kPerWord * bits<IN>());
  }
  return block;
}

template <class IN>
DIECAST_DEVICE Block16<IN> hadamard16(const Block16<IN>& block, u32 signs) {
  f32 x[16];
DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) x[i] = block.element(i);
  hadamard16(x, signs);
  return block16_of<IN>(x);
}

}  // namespace diecast
