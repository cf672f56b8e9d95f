// Stochastic rounding to E2M1: an element goes to one of its two neighbours on the grid, up with the
// probability of its place between them, in steps of 1/256. The random numbers are Philox4x32-10 of
// a seed and an offset in device memory and of the block's place in its output, so the codes depend
// on no launch. The rule stands in templates/PROFILES.md.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/e2m1_codes.h>

namespace diecast {

// Word j rounds elements 4j to 4j + 3 of a block, byte i of it element 4j + i.
struct RandomWords {
  u32 words[4];
};

// Of a template's STOCHASTIC: where the random numbers of an output's blocks come from, or nothing.
template <bool Stochastic>
struct Randomness {
  template <bool Rolled>
  DIECAST_DEVICE RandomWords of_block(i64) const {
    return {};
  }
};

// `state`: {seed, offset}, read once a launch. `first`: the index of what is block 0 to the caller.
template <bool Stochastic>
DIECAST_DEVICE Randomness<Stochastic> randomness(const i64* state, i64 first, bool of_columns) {
  if constexpr (Stochastic) {
    return {static_cast<u64>(state[0]), static_cast<u64>(state[1]), 2 * static_cast<u64>(first) + of_columns};
  } else {
    return {};
  }
}

// Codes of eight products, two a byte, the first in the low nibble.
DIECAST_DEVICE u32 stochastic_codes(const f32 (&y)[8], u32 random_low, u32 random_high);

#if !DIECAST_NO_STOCHASTIC

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

// Philox4x32, ten rounds. The counter is the offset in its low half, the sequence in the high one. Rolled: in a loop.
template <bool Rolled>
DIECAST_DEVICE RandomWords philox(u64 seed, u64 sequence, u64 offset) {
  u32 x = static_cast<u32>(offset), y = static_cast<u32>(offset >> 32);
  u32 z = static_cast<u32>(sequence), w = static_cast<u32>(sequence >> 32);
  u32 key_x = static_cast<u32>(seed), key_y = static_cast<u32>(seed >> 32);
  DIECAST_UNROLL_TIMES(Rolled ? 2 : 10)
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

template <>
struct Randomness<true> {
  u64 seed, offset;
  u64 sequence;  // of block 0: twice its index in the output, plus 1 along columns

  template <bool Rolled>
  DIECAST_DEVICE RandomWords of_block(i64 block) const {
    return philox<Rolled>(seed, sequence + 2 * static_cast<u64>(block), offset);
  }
};

#if DIECAST_HOST

// A word whose low three bits are the code of |y| plus r / 256 steps of the grid at |y|, rounded down;
// r is byte i of `random`. NaN gives 7. With p the power of two at or below max(|y|, 1) the step is
// p / 2, so the sum has its number of steps in front of the point after a division by that, as in
// e2m1_magnitude(). What goes past the next power of two is one step above the last one below it, and
// so are the codes.
DIECAST_DEVICE u32 stochastic_magnitude(f32 y, u32 random, int i) {
  const f32 a = fminf(fabsf(y), 6.0f);
  const f32 power = __uint_as_float(__float_as_uint(fmaxf(a, 1.0f)) & 0x7F800000u);
  // The product is exact: the sum is one rounding, fused or not.
  const f32 fraction = static_cast<f32>(static_cast<int>(random >> (8 * i) & 0xFFu)) * 0x1p-9f;
  const f32 t = fraction * power + a;
  const f32 steps = t * __uint_as_float((255u << 23) - __float_as_uint(power));  // 2 / power
  return static_cast<u32>(static_cast<int>(steps)) + 2 * ((__float_as_uint(power) >> 23) - 127);
}

// Codes of four products by the bytes of a word, one a byte. Products, because a NaN that comes of
// arithmetic has no sign on a GPU.
DIECAST_DEVICE u32 stochastic_code_bytes(const f32* y, u32 random) {
  u32 codes = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 sign = y[i] == y[i] ? __float_as_uint(y[i]) >> 28 & 8u : 0u;
    codes |= ((stochastic_magnitude(y[i], random, i) & 7u) | sign) << (8 * i);
  }
  return codes;
}

#else

// Codes of |y0| and |y1| by the bytes 0 and 2 of `random`, whose others are 0, in bits 9 to 11 of either
// half; the bits above are 0, those below say nothing. As an f16 times 2^-14 a value of the grid has
// its code in those bits, and what is between two of them has its place there in the nine below, cut
// off: twice r added there carries into the code where the rule goes up. The rule rounds |y| + r / 512
// to a float first, which matters where that comes to 1/2 from at most 2^-26 below, of a |y| below 1/4:
// so 2^-26 is added before, and cut off again where |y| is larger. NaN gives way to 6. A test tries every
// |y|.
DIECAST_DEVICE u32 stochastic_pair(f32 y0, f32 y1, u32 random) {
  u32 pair;
  asm("{\n"
      " .reg .f32 a0, a1;\n"
      " abs.f32 a0, %1;\n"
      " abs.f32 a1, %2;\n"
      " fma.rz.f32 a0, a0, 0f38800000, 0f2B800000;\n"  // 2^-14, 2^-40
      " fma.rz.f32 a1, a1, 0f38800000, 0f2B800000;\n"
      " cvt.rz.f16x2.f32 %0, a1, a0;\n"
      " min.f16x2 %0, %0, %4;\n"
      " mad.lo.u32 %0, %3, 2, %0;\n"
      "}"
      : "=&r"(pair)
      : "f"(y0), "f"(y1), "r"(random), "r"(0x0E000E00u));
  return pair;
}

#endif

DIECAST_DEVICE u32 stochastic_codes(const f32 (&y)[8], u32 random_low, u32 random_high) {
#if DIECAST_HOST
  const u32 low = stochastic_code_bytes(y, random_low);
  const u32 high = stochastic_code_bytes(y + 4, random_high);
  return __byte_perm(low | low >> 4, high | high >> 4, 0x6420);
#else
  const u32 even = __byte_perm(stochastic_pair(y[0], y[2], random_low & 0x00FF00FFu),
                               stochastic_pair(y[4], y[6], random_high & 0x00FF00FFu), 0x7531);
  const u32 odd = __byte_perm(stochastic_pair(y[1], y[3], __byte_perm(random_low, 0, 0x4341)),
                              stochastic_pair(y[5], y[7], __byte_perm(random_high, 0, 0x4341)), 0x7531);
  const u32 codes = (16 * odd + even) >> 1;
  return signs_of_eight(y) | (codes & ~0x88888888u);
#endif
}

#endif

}  // namespace diecast
