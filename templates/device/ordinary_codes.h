// Codes of blocks that are ordinary (nvfp4_ordinary.h), of elements of 16 bits, in integers: four codes are
// three products and sums. Two blocks at once, which wait together.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/nvfp4_ordinary.h>

namespace diecast {

// Of a product below 7 in magnitude: a word that ends, for 20 bits, in its code less 8. With P the part of
// |y| that is 2 or 4, or next to 0 where |y| is below 2, the last place of K = (2^22 - 1) P + 3 * 2^21 - 4 is the
// grid's step at |y|, and K ends in P's code less 8 but for P itself, an even number of steps: the sum K + |y|
// rounds |y|, nearest even. A test tries every |y|.
DIECAST_DEVICE u32 ordinary_sum(f32 y) {
  const f32 part = __uint_as_float(__float_as_uint(y) & 0x40800000u);
  return __float_as_uint(part * 4194303.0f + 6291452.0f + fabsf(y));
}

// Of elements times `factor`: of words' low halves, of their high halves, or (both) in turns. One piece of
// assembly, for the sake of the compiler's time.
enum class Halves { low, high, both };

#if !DIECAST_HOST
#define DIECAST_LOW_BF16(x, word) " shl.b32 " x ", " word ", 16;\n"
#define DIECAST_HIGH_BF16(x, word) " and.b32 " x ", " word ", 0xFFFF0000;\n"
#define DIECAST_LOW_F16(x, word) " mov.b32 {l, h}, " word ";\n cvt.f32.f16 " x ", l;\n"
#define DIECAST_HIGH_F16(x, word) " mov.b32 {l, h}, " word ";\n cvt.f32.f16 " x ", h;\n"
#define DIECAST_ROUNDED(x, s)                                                                    \
  " mul.rn.f32 " x ", " x ", %5;\n and.b32 p, " x ", 0x40800000;\n abs.f32 " x ", " x ";\n"       \
  " fma.rn.f32 p, p, 0f4A7FFFFC, 0f4ABFFFF8;\n add.rn.f32 " s ", p, " x ";\n"
#define DIECAST_FOUR(first, second)                                                              \
  asm("{\n .reg .b16 l, h;\n .reg .b32 a, b, c, d, p;\n" first("a", "%1") second("b", "%2")      \
      first("c", "%3") second("d", "%4") DIECAST_ROUNDED("a", "a") DIECAST_ROUNDED("b", "b")     \
      DIECAST_ROUNDED("c", "c") DIECAST_ROUNDED("d", "d")                                        \
      " mad.lo.u32 c, d, 16, c;\n mad.lo.u32 b, c, 16, b;\n mad.lo.u32 %0, b, 16, a;\n}"          \
      : "=r"(four)                                                                               \
      : "r"(word0), "r"(word1), "r"(word2), "r"(word3), "f"(factor))
#endif

template <class IN, Halves Of>
DIECAST_DEVICE u32 ordinary_four(u32 word0, u32 word1, u32 word2, u32 word3, f32 factor) {
  u32 four = 0;
#if DIECAST_HOST
  const u32 words[4] = {word0, word1, word2, word3};
  for (int i = 3; i >= 0; --i) {
    const bool high = Of == Halves::high || (Of == Halves::both && i % 2 == 1);
    four = 16 * four + ordinary_sum(to_f32(IN{static_cast<u16>(words[i] >> (high ? 16 : 0))}) * factor);
  }
#else
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    if constexpr (Of == Halves::both) DIECAST_FOUR(DIECAST_LOW_BF16, DIECAST_HIGH_BF16);
    if constexpr (Of == Halves::low) DIECAST_FOUR(DIECAST_LOW_BF16, DIECAST_LOW_BF16);
    if constexpr (Of == Halves::high) DIECAST_FOUR(DIECAST_HIGH_BF16, DIECAST_HIGH_BF16);
  } else {
    if constexpr (Of == Halves::both) DIECAST_FOUR(DIECAST_LOW_F16, DIECAST_HIGH_F16);
    if constexpr (Of == Halves::low) DIECAST_FOUR(DIECAST_LOW_F16, DIECAST_LOW_F16);
    if constexpr (Of == Halves::high) DIECAST_FOUR(DIECAST_HIGH_F16, DIECAST_HIGH_F16);
  }
#endif
  return four;
}
#if !DIECAST_HOST
#undef DIECAST_FOUR
#undef DIECAST_ROUNDED
#undef DIECAST_HIGH_F16
#undef DIECAST_LOW_F16
#undef DIECAST_HIGH_BF16
#undef DIECAST_LOW_BF16
#endif

// Eight codes of the low halves of two outcomes: what each is short of codes, 0x8888, is borrowed from the next.
DIECAST_DEVICE u32 ordinary_eight(u32 four, u32 next_four, u32 signs) {
  return (__byte_perm(four, next_four, 0x5410) + 0x88878888u) | signs;
}

// Codes of a block's elements times `factor`. Their signs are the elements'.
template <class IN>
DIECAST_DEVICE void ordinary_codes(const Block16<IN>& block, f32 factor, u32 (&codes)[2]) {
DIECAST_UNROLL
  for (int half = 0; half < 2; ++half) {
    const u32* w = block.words + 4 * half;
    codes[half] = ordinary_eight(ordinary_four<IN, Halves::both>(w[0], w[0], w[1], w[1], factor),
                                 ordinary_four<IN, Halves::both>(w[2], w[2], w[3], w[3], factor), signs_of(block, half));
  }
}

// Two blocks side by side, of lines of the matrix: as words of two neighbours, or as they lie in sixteen rows.
template <class IN>
struct TwoBlocks {
  Block16<IN> blocks[2];

  DIECAST_DEVICE const Block16<IN>& block(int i) const { return blocks[i]; }
  DIECAST_DEVICE void find_amax(f32 (&amax)[2]) const {
    amax[0] = amax_with_nan(blocks[0]), amax[1] = amax_with_nan(blocks[1]);
  }
  DIECAST_DEVICE void find_codes(f32 factor, f32 other_factor, u32 (&codes)[2], u32 (&other_codes)[2]) const {
    ordinary_codes(blocks[0], factor, codes), ordinary_codes(blocks[1], other_factor, other_codes);
  }
};

template <class IN>
struct TwoColumns {
  u32 words[16];  // of a row each

  DIECAST_DEVICE Block16<IN> block(int column) const {
    Block16<IN> block;
DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      block.words[i] = __byte_perm(words[2 * i], words[2 * i + 1], column == 0 ? 0x5410 : 0x7632);
    }
    return block;
  }
  DIECAST_DEVICE void find_amax(f32 (&amax)[2]) const {
#if DIECAST_HOST
    amax[0] = amax_with_nan(block(0)), amax[1] = amax_with_nan(block(1));
#else
    const u32 largest = largest_halves<IN>(words);
    amax[0] = fabsf(to_f32(from_bits<IN>(largest & 0xFFFFu))), amax[1] = fabsf(to_f32(from_bits<IN>(largest >> 16)));
#endif
  }
  DIECAST_DEVICE void find_codes(f32 factor, f32 other_factor, u32 (&codes)[2], u32 (&other_codes)[2]) const {
DIECAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      const u32* w = words + 8 * half;
      const u32 even[2] = {__byte_perm(w[0], w[2], 0x7351), __byte_perm(w[4], w[6], 0x7351)};  // signs of both columns
      const u32 odd[2] = {__byte_perm(w[1], w[3], 0x7351), __byte_perm(w[5], w[7], 0x7351)};
      const auto signs = [&](u32 pick) {
        return (__byte_perm(odd[0], odd[1], pick) & 0x80808080u) | (__byte_perm(even[0], even[1], pick) >> 4 & 0x08080808u);
      };
      codes[half] = ordinary_eight(ordinary_four<IN, Halves::low>(w[0], w[1], w[2], w[3], factor),
                                   ordinary_four<IN, Halves::low>(w[4], w[5], w[6], w[7], factor), signs(0x5410));
      other_codes[half] = ordinary_eight(ordinary_four<IN, Halves::high>(w[0], w[1], w[2], w[3], other_factor),
                                         ordinary_four<IN, Halves::high>(w[4], w[5], w[6], w[7], other_factor), signs(0x7632));
    }
  }
};

// Such two, each under its own amax or (Shared) under `amax`, where they are ordinary and may be taken as such;
// else seldom(block) is asked. store(i, block) gets what they become.
template <bool Shared, class Two, class Global, class Seldom, class Store>
DIECAST_DEVICE void quantize_together(const Two& two, f32 amax, bool may, const Global& global,
                                      const Seldom& seldom, const Store& store) {
  f32 amaxes[2] = {amax, amax};
  if constexpr (!Shared) two.find_amax(amaxes);
  const OrdinaryScale first(amaxes[0], global), second(amaxes[1], global);
  Nvfp4Block out[2] = {{{0, 0}, first.scale}, {{0, 0}, second.scale}};
  if (first.is_ordinary && second.is_ordinary && (!Shared || may)) {
    two.find_codes(first.factor, second.factor, out[0].codes, out[1].codes);
  } else {
    out[0] = seldom(two.block(0)), out[1] = seldom(two.block(1));
  }
  store(0, out[0]), store(1, out[1]);
}

}  // namespace diecast
