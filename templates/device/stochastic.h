// Stochastic rounding to E2M1: an element goes to one of its two neighbours on the grid, up with the
// probability of its place between them, in steps of 1/256. The random numbers are Philox4x32-10 of
// a seed and an offset in device memory and of the block's place in its output, so the codes depend
// on no launch. The rule stands in templates/PROFILES.md.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// Word j rounds elements 4j to 4j + 3 of a block, byte i of it element 4j + i.
struct RandomWords {
  u32 words[4];
};

struct WideProduct {
  u32 low, high;
};

// Assembly, because the compiler adds zeros to the halves of one that is written out.
DIECAST_DEVICE WideProduct wide_product(u32 a, u32 b) {
#if DIECAST_HOST
  const u64 product = u64{a} * b;
  return {static_cast<u32>(product), static_cast<u32>(product >> 32)};
#else
  WideProduct out;
  asm("{\n .reg .b64 product;\n mul.wide.u32 product, %2, %3;\n mov.b64 {%0, %1}, product;\n}"
      : "=r"(out.low), "=r"(out.high)
      : "r"(b), "r"(a));
  return out;
#endif
}

// Philox4x32, ten rounds. The counter is the offset in its low half, the sequence in the high one.
DIECAST_DEVICE RandomWords philox(u64 seed, u64 sequence, u64 offset) {
  u32 x = static_cast<u32>(offset), y = static_cast<u32>(offset >> 32);
  u32 z = static_cast<u32>(sequence), w = static_cast<u32>(sequence >> 32);
  u32 key_x = static_cast<u32>(seed), key_y = static_cast<u32>(seed >> 32);
DIECAST_UNROLL
  for (int round = 0; round < 10; ++round) {
    const WideProduct of_x = wide_product(0xD2511F53u, x), of_z = wide_product(0xCD9E8D57u, z);
    x = of_z.high ^ y ^ key_x;
    z = of_x.high ^ w ^ key_y;
    y = of_z.low;
    w = of_x.low;
    key_x += 0x9E3779B9u;
    key_y += 0xBB67AE85u;
  }
  return {{x, y, z, w}};
}

// Of a template's STOCHASTIC: where the random numbers of an output's blocks come from, or nothing.
template <bool Stochastic>
struct Randomness {
  DIECAST_DEVICE RandomWords of_block(i64) const { return {}; }
};

template <>
struct Randomness<true> {
  u64 seed, offset;
  u64 sequence;  // of block 0: twice its index in the output, plus 1 along columns

  DIECAST_DEVICE RandomWords of_block(i64 block) const {
    return philox(seed, sequence + 2 * static_cast<u64>(block), offset);
  }
};

// `state`: {seed, offset}, read once a launch. `first`: the index of what is block 0 to the caller.
template <bool Stochastic>
DIECAST_DEVICE Randomness<Stochastic> randomness(const i64* state, i64 first, bool of_columns) {
  if constexpr (Stochastic) {
    return {static_cast<u64>(state[0]), static_cast<u64>(state[1]),
            2 * static_cast<u64>(first) + of_columns};
  } else {
    return {};
  }
}

// A word whose low three bits are the code of |y| plus r / 256 steps of the grid at |y|, rounded down;
// r is byte i of `random`. NaN gives 7. With p the power of two at or below max(|y|, 1) the step is
// p / 2, also the last place of a float near 2^22 p: an addition that rounds towards zero leaves the
// number of steps in the low bits, as e2m1_magnitude() does. What goes past the next power of two is
// one step above the last one below it, and so are the codes.
DIECAST_DEVICE u32 stochastic_magnitude(f32 y, u32 random, int i) {
  const f32 a = fminf(fabsf(y), 6.0f);
  const f32 power = __uint_as_float(__float_as_uint(fmaxf(a, 1.0f)) & 0x7F800000u);
#if DIECAST_HOST  // the product is exact: the sum is one rounding, fused or not
  const f32 fraction = static_cast<f32>(static_cast<int>(random >> (8 * i) & 0xFFu)) * 0x1p-9f;
  const f32 t = fraction * power + a;
  const f32 steps = t * __uint_as_float((255u << 23) - __float_as_uint(power));  // 2 / power
  return static_cast<u32>(static_cast<int>(steps)) + 2 * ((__float_as_uint(power) >> 23) - 127);
#else
  // The byte in the mantissa of a float whose bit 0 or 8 is worth 2^-9: 2^14 or 2^6 above r / 512.
  const u32 word = i < 2 ? random : random >> 16;
  const f32 above = i % 2 == 0 ? 0x1p14f : 0x1p6f;
  const u32 placed = (word & (i % 2 == 0 ? 0xFFu : 0xFF00u)) | __float_as_uint(above);
  const f32 t = __fmaf_rn(__fsub_rn(__uint_as_float(placed), above), power, a);
  const u32 sum = __float_as_uint(__fmaf_rz(power, 4194307.0f, t));
  return sum + (sum >> 22);
#endif
}

// Codes of four products by the bytes of a word, one a byte. Products, because a NaN that comes of
// arithmetic has no sign on a GPU.
DIECAST_DEVICE u32 stochastic_code_bytes(const f32* y, u32 random) {
#if DIECAST_HOST
  u32 codes = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 sign = y[i] == y[i] ? __float_as_uint(y[i]) >> 28 & 8u : 0u;
    codes |= ((stochastic_magnitude(y[i], random, i) & 7u) | sign) << (8 * i);
  }
  return codes;
#else
  u32 m[4], signs[4];
DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    m[i] = stochastic_magnitude(y[i], random, i);
    signs[i] = __float_as_uint(y[i]);
  }
  const u32 codes = __byte_perm(__byte_perm(m[0], m[1], 0x40), __byte_perm(m[2], m[3], 0x40), 0x5410);
  const u32 tops = __byte_perm(__byte_perm(signs[0], signs[1], 0x73),
                               __byte_perm(signs[2], signs[3], 0x73), 0x5410);
  return (codes & 0x07070707u) | (tops >> 4 & 0x08080808u);
#endif
}

// Codes of eight products, two a byte, the first in the low nibble.
DIECAST_DEVICE u32 stochastic_codes(const f32 (&y)[8], u32 random_low, u32 random_high) {
  const u32 low = stochastic_code_bytes(y, random_low);
  const u32 high = stochastic_code_bytes(y + 4, random_high);
  return __byte_perm(low | low >> 4, high | high >> 4, 0x6420);
}

}  // namespace diecast
