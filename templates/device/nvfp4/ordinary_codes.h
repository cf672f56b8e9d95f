// Codes of blocks that are ordinary (nvfp4_ordinary.h), of elements of 16 bits, in integers: four codes are
// three products and sums. Two blocks at once, which wait together.
#pragma once

#include <diecast/device/blocks/block16.h>
#include <diecast/device/nvfp4/nvfp4_ordinary.h>

namespace diecast {

// Of a product below 7 in magnitude: a word that ends, for 20 bits, in its code less 8. With P the part of
// |y| that is 2 or 4, or next to 0 where |y| is below 2, the last place of K = (2^22 - 1) P + 3 * 2^21 - 4 is the
// grid's step at |y|, and K ends in P's code less 8 but for P itself, an even number of steps: the sum K + |y|
// rounds |y|, nearest even. A test tries every |y|.
DIECAST_DEVICE u32 ordinary_sum(f32 y) {
  const f32 part = __uint_as_float(__float_as_uint(y) & 0x40800000u);
  return __float_as_uint(part * 4194303.0f + 6291452.0f + fabsf(y));
}

// Codes of blocks' halves times their factors: eight words, as they lie in a block or in eight rows. On a GPU one
// piece of assembly each, for the sake of the compiler's time.
#if !DIECAST_HOST
#define DIECAST_LOW_BF16(x, word) " shl.b32 " x ", " word ", 16;\n"
#define DIECAST_HIGH_BF16(x, word) " and.b32 " x ", " word ", 0xFFFF0000;\n"
#define DIECAST_LOW_F16(x, word) " mov.b32 {l, h}, " word ";\n cvt.f32.f16 " x ", l;\n"
#define DIECAST_HIGH_F16(x, word) " mov.b32 {l, h}, " word ";\n cvt.f32.f16 " x ", h;\n"
#define DIECAST_ROUNDED(x, factor)                                                            \
  " mul.rn.f32 " x ", " x ", " factor ";\n and.b32 p, " x ", 0x40800000;\n abs.f32 " x ", " x \
  ";\n fma.rn.f32 p, p, 0f4A7FFFFC, 0f4ABFFFF8;\n add.rn.f32 " x ", p, " x ";\n"
// The sums of four elements, the first's lowest.
#define DIECAST_FOUR(four, first, second, word0, word1, word2, word3, factor) \
  first("a", word0) second("b", word1) first("c", word2) second("d", word3)                      \
      DIECAST_ROUNDED("a", factor) DIECAST_ROUNDED("b", factor) DIECAST_ROUNDED("c", factor)     \
      DIECAST_ROUNDED("d", factor) " mad.lo.u32 c, d, 16, c;\n mad.lo.u32 b, c, 16, b;\n"        \
      " mad.lo.u32 " four ", b, 16, a;\n"
// Eight codes: what each is short of codes, 0x8888, is borrowed from the next. Signs are the top bits of the
// bytes of `odd` and `even`.
#define DIECAST_EIGHT(codes, odd, even)                                      \
  " prmt.b32 s, s, t, 0x5410;\n add.u32 s, s, 0x88878888;\n and.b32 a, " odd \
  ", 0x80808080;\n"                                                          \
  " shr.u32 b, " even ", 4;\n and.b32 b, b, 0x08080808;\n or.b32 a, a, b;\n or.b32 " codes ", s, a;\n"
#define DIECAST_BLOCK_HALF(codes, low, high, w0, w1, w2, w3)       \
  DIECAST_FOUR("s", low, high, w0, w0, w1, w1, "%10")              \
  DIECAST_FOUR("t", low, high, w2, w2, w3, w3, "%10")              \
  " prmt.b32 c, " w0 ", " w1 ", 0x7351;\n prmt.b32 d, " w2 ", " w3 \
  ", 0x7351;\n"                                                    \
  " prmt.b32 e, c, d, 0x5410;\n prmt.b32 o, c, d, 0x7632;\n" DIECAST_EIGHT(codes, "o", "e")
#define DIECAST_COLUMN_HALF(codes, half, factor, pick)          \
  DIECAST_FOUR("s", half, half, "%2", "%3", "%4", "%5", factor) \
  DIECAST_FOUR("t", half, half, "%6", "%7", "%8", "%9", factor) \
  " prmt.b32 c, o, u, " pick ";\n prmt.b32 d, e, v, " pick ";\n" DIECAST_EIGHT(codes, "c", "d")
#define DIECAST_BEGIN "{\n .reg .b16 l, h;\n .reg .b32 a, b, c, d, e, o, p, s, t, u, v;\n"
#define DIECAST_OPERANDS(first, second) \
  : "=&r"(first), "=&r"(second)                                                                  \
  : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7])
#define DIECAST_BLOCK(low, high)                                                                                \
  asm(DIECAST_BEGIN DIECAST_BLOCK_HALF("%0", low, high, "%2", "%3", "%4", "%5")                                 \
          DIECAST_BLOCK_HALF("%1", low, high, "%6", "%7", "%8", "%9") "}" DIECAST_OPERANDS(codes[0], codes[1]), \
      "f"(factor))
#define DIECAST_COLUMNS(low, high)                                                                                   \
  asm(DIECAST_BEGIN                                                                                                  \
      " prmt.b32 e, %2, %4, 0x7351;\n prmt.b32 v, %6, %8, 0x7351;\n"                                                 \
      " prmt.b32 o, %3, %5, 0x7351;\n prmt.b32 u, %7, %9, 0x7351;\n" DIECAST_COLUMN_HALF("%0", low, "%10", "0x5410") \
          DIECAST_COLUMN_HALF("%1", high, "%11", "0x7632") "}" DIECAST_OPERANDS(first, second),                      \
      "f"(factor), "f"(other_factor))
#endif

// Of a block's elements.
template <class IN>
DIECAST_DEVICE void ordinary_codes(const Block16<IN>& block, f32 factor, u32 (&codes)[2]) {
#if DIECAST_HOST
  for (int half = 0; half < 2; ++half) {
    codes[half] = signs_of(block, half);
    for (int i = 0; i < 8; ++i) codes[half] |= (ordinary_sum(block.element(8 * half + i) * factor) + 8) % 16 << 4 * i;
  }
#else
  const u32* w = block.words;
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    DIECAST_BLOCK(DIECAST_LOW_BF16, DIECAST_HIGH_BF16);
  } else {
    DIECAST_BLOCK(DIECAST_LOW_F16, DIECAST_HIGH_F16);
  }
#endif
}

#if !DIECAST_HOST
// Of eight elements of two columns: `w` are words of neighbours in rows that follow each other.
template <class IN>
DIECAST_DEVICE void ordinary_codes_of_columns(const u32* w, f32 factor, f32 other_factor, u32& first, u32& second) {
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    DIECAST_COLUMNS(DIECAST_LOW_BF16, DIECAST_HIGH_BF16);
  } else {
    DIECAST_COLUMNS(DIECAST_LOW_F16, DIECAST_HIGH_F16);
  }
}
#undef DIECAST_COLUMNS
#undef DIECAST_BLOCK
#undef DIECAST_OPERANDS
#undef DIECAST_BEGIN
#undef DIECAST_COLUMN_HALF
#undef DIECAST_BLOCK_HALF
#undef DIECAST_EIGHT
#undef DIECAST_FOUR
#undef DIECAST_ROUNDED
#undef DIECAST_HIGH_F16
#undef DIECAST_LOW_F16
#undef DIECAST_HIGH_BF16
#undef DIECAST_LOW_BF16
#endif

// Of any product: NaN and what is cut off become 6.
DIECAST_DEVICE u32 seldom_code(f32 y) {
  return (ordinary_sum(fminf(fabsf(y), 6.0f)) & 7u) | (y == y ? __float_as_uint(y) >> 28 & 8u : 0u);
}

// Codes where not all are ordinary. A loop: seldom, and short to compile.
template <class IN>
DIECAST_DEVICE void seldom_codes(Block16<IN> block, f32 factor, u32 (&codes)[2]) {
  u64 found = 0;
  DIECAST_NO_UNROLL
  for (int i = 0; i < 16; i += 2) {
    DIECAST_UNROLL
    for (int j = 0; j < 2; ++j) {
      found = found >> 4 | u64{seldom_code(block.element(j) * factor)} << 60;
    }
    DIECAST_UNROLL
    for (int w = 0; w < 7; ++w) block.words[w] = block.words[w + 1];
  }
  codes[0] = static_cast<u32>(found), codes[1] = static_cast<u32>(found >> 32);
}

// Of a block, and of columns' words, under a scale. (Scales of another kind have their own: tie_factors.h.)
template <class IN>
DIECAST_DEVICE void find_codes(const Block16<IN>& block, const OrdinaryScale& by, u32 (&codes)[2]) {
  ordinary_codes(block, by.factor, codes);
}
#if !DIECAST_HOST
template <class IN>
DIECAST_DEVICE void find_codes_of_columns(IN, const u32* w, const OrdinaryScale& by, const OrdinaryScale& other, u32& first,
                                          u32& second) {
  ordinary_codes_of_columns<IN>(w, by.factor, other.factor, first, second);
}
#endif

#if !DIECAST_HOST
// The largest |value| of sixteen words' low and high halves by themselves, as largest_of_eight() has it. NaN where one is.
#define DIECAST_LARGEST_OF_SIXTEEN(type)                                                                                         \
  asm("{\n .reg .b32 a, b, c, d, e, f, g, h, s, t;\n" DIECAST_LARGEST(".NaN", type, "a", "%1", "%2")                             \
          DIECAST_LARGEST(".NaN", type, "b", "%3", "%4") DIECAST_LARGEST(".NaN", type, "c", "%5", "%6")                          \
              DIECAST_LARGEST(".NaN", type, "d", "%7", "%8") DIECAST_LARGEST(".NaN", type, "e", "%9", "%10")                     \
                  DIECAST_LARGEST(".NaN", type, "f", "%11", "%12") DIECAST_LARGEST(".NaN", type, "g", "%13", "%14")              \
                      DIECAST_LARGEST(".NaN", type, "h", "%15", "%16") DIECAST_FOLD(".NaN", type, "a", "b")                      \
                          DIECAST_FOLD(".NaN", type, "c", "d") DIECAST_FOLD(".NaN", type, "e", "f")                              \
                              DIECAST_FOLD(".NaN", type, "g", "h") DIECAST_FOLD(".NaN", type, "a", "c")                          \
                                  DIECAST_FOLD(".NaN", type, "e", "g") DIECAST_FOLD(".NaN", type, "a", "e") " mov.b32 %0, a;\n}" \
      : "=r"(largest)                                                                                                            \
      : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(words[4]), "r"(words[5]), "r"(words[6]), "r"(words[7]),  \
        "r"(words[8]), "r"(words[9]), "r"(words[10]), "r"(words[11]), "r"(words[12]), "r"(words[13]), "r"(words[14]),            \
        "r"(words[15]))

template <class IN>
DIECAST_DEVICE u32 largest_halves(const u32* words) {
  u32 largest;
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    DIECAST_LARGEST_OF_SIXTEEN("bf16x2");
  } else {
    DIECAST_LARGEST_OF_SIXTEEN("f16x2");
  }
  return largest;
}
#undef DIECAST_LARGEST_OF_SIXTEEN
#endif

// Two blocks side by side, of lines of the matrix: as words of two neighbours, or as they lie in sixteen rows.
template <class IN>
struct TwoBlocks {
  Block16<IN> blocks[2];

  DIECAST_DEVICE const Block16<IN>& block(int i) const { return blocks[i]; }
  DIECAST_DEVICE void find_amax(f32 (&amax)[2]) const { amax[0] = amax_with_nan(blocks[0]), amax[1] = amax_with_nan(blocks[1]); }
  template <class Scale>
  DIECAST_DEVICE void codes_under(const Scale& by, const Scale& other, u32 (&codes)[2], u32 (&other_codes)[2]) const {
    find_codes(blocks[0], by, codes), find_codes(blocks[1], other, other_codes);
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
  template <class Scale>
  DIECAST_DEVICE void codes_under(const Scale& by, const Scale& other, u32 (&codes)[2], u32 (&other_codes)[2]) const {
#if DIECAST_HOST
    find_codes(block(0), by, codes), find_codes(block(1), other, other_codes);
#else
    DIECAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      find_codes_of_columns(IN{}, words + 8 * half, by, other, codes[half], other_codes[half]);
    }
#endif
  }
};

// A block under its own amax, where it is ordinary; else seldom(block) is asked.
template <class IN, class Global, class Seldom>
DIECAST_DEVICE Nvfp4Block quantize_one(const Block16<IN>& block, const Global& global, const Seldom& seldom) {
  const typename Global::Scale by(amax_with_nan(block), global);
  if (!by.is_ordinary) return seldom(block);
  Nvfp4Block out = {{0, 0}, by.scale};
  find_codes(block, by, out.codes);
  return out;
}

// Such two, each under its own amax or (Shared) under `amax`, where they are ordinary and may be taken as such;
// else seldom(block) is asked. store(i, block) gets what they become.
template <bool Shared, class Two, class Global, class Seldom, class Store>
DIECAST_DEVICE void quantize_together(const Two& two, f32 amax, bool may, const Global& global, const Seldom& seldom,
                                      const Store& store) {
  f32 amaxes[2] = {amax, amax};
  if constexpr (!Shared) two.find_amax(amaxes);
  const typename Global::Scale first(amaxes[0], global), second(amaxes[1], global);
  Nvfp4Block out[2] = {{{0, 0}, first.scale}, {{0, 0}, second.scale}};
  if (first.is_ordinary && second.is_ordinary && (!Shared || may)) {
    two.codes_under(first, second, out[0].codes, out[1].codes);
  } else {
    out[0] = seldom(two.block(0)), out[1] = seldom(two.block(1));
  }
  store(0, out[0]), store(1, out[1]);
}

}  // namespace diecast
