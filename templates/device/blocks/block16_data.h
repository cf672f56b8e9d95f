// Sixteen neighbouring elements of a row in registers: of f32, or loaded whole and aligned, or element
// by element with a zero-padded tail.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/pairs.h>

namespace diecast {

// Element i of packed words.
template <class IN>
DIECAST_DEVICE f32 element_of(const u32* words, int i) {
  if constexpr (bits<IN>() == 32) {
    return __uint_as_float(words[i]);
  } else {
    return to_f32(IN{static_cast<u16>(words[i / 2] >> (i % 2 * 16))});
  }
}

template <class IN>
struct Block16 {
  static constexpr int kWords = bits<IN>() / 2;  // 8 words of two elements, or 16 of one
  u32 words[kWords];

  DIECAST_DEVICE f32 element(int i) const { return element_of<IN>(words, i); }

  // Element 1 becomes element 0, and so on.
  DIECAST_DEVICE void drop_first() {
    constexpr int kPerWord = 32 / bits<IN>();
    DIECAST_UNROLL
    for (int i = 0; i + 1 < kWords; ++i) {
      words[i] = kPerWord == 1 ? words[i + 1] : words[i] >> 16 | words[i + 1] << 16;
    }
    if (kPerWord == 2) words[kWords - 1] >>= 16;
  }
  // Element 2 becomes element 0, and so on.
  DIECAST_DEVICE void drop_two() {
    constexpr int kTwo = bits<IN>() / 16;
    DIECAST_UNROLL
    for (int i = 0; i + kTwo < kWords; ++i) words[i] = words[i + kTwo];
  }
};

// Sixteen values rounded to the elements of a block.
template <class IN>
DIECAST_DEVICE Block16<IN> block16_of(const f32 (&x)[16]) {
  Block16<IN> block = {};
#if !DIECAST_HOST
  if constexpr (bits<IN>() == 16) {
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) block.words[i] = pair_from_f32<IN>(x[2 * i], x[2 * i + 1]);
  } else
#endif
  {
    constexpr int kPerWord = 32 / bits<IN>();
    DIECAST_UNROLL
    for (int i = 0; i < 16; ++i) {
      block.words[i / kPerWord] |= to_bits(from_f32<IN>(x[i])) << (i % kPerWord * bits<IN>());
    }
  }
  return block;
}

// What an element in memory is in a block: f16 holds every value of e4m3.
template <class IN>
struct LoadedElement {
  using Type = IN;
};
template <>
struct LoadedElement<e4m3> {
  using Type = f16;
};
template <class IN>
using LoadedBlock16 = Block16<typename LoadedElement<IN>::Type>;

// Two E4M3 bytes as f16, which holds each of their values.
DIECAST_DEVICE u32 f16_pair_of_e4m3(u32 two_bytes) {
#if DIECAST_HAS_E4M3_CVT
  u32 pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<u16>(two_bytes)));
  return pair;
#elif !DIECAST_HOST
  // Exponent and mantissa stand where f16 has them, 2^8 too small; 480 would be the value of NaN.
  const u32 wide = __byte_perm(two_bytes, 0, 0x1404), small = (wide & 0x7F007F00u) >> 1;
  u32 pair;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(small), "r"(0x5C005C00u));  // 256
  const u32 nan = (pair + 0x20802080u) & 0x80008000u;
  return pair | (nan - (nan >> 15)) | (wide & 0x80008000u & ~nan);
#else
  const u32 low = to_bits(from_f32<f16>(f32_from_e4m3({static_cast<u8>(two_bytes)})));
  return low | to_bits(from_f32<f16>(f32_from_e4m3({static_cast<u8>(two_bytes >> 8)}))) << 16;
#endif
}

// Sixteen bytes as the words of a block of f16.
template <class Words>
DIECAST_DEVICE void f16_of_e4m3(const u32* bytes, Words& words) {
  DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) words[i] = f16_pair_of_e4m3(bytes[i / 2] >> (i % 2 * 16) & 0xFFFFu);
}

#if !DIECAST_HOST
// 32 bytes from an address that is a multiple of 16. Two loads share a sector of memory, so they go through the
// first-level cache: as streaming loads they cost 8 % of the bandwidth.
DIECAST_DEVICE void load_sector(const void* from, u32* to) {
  asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%8];\n"
      "ld.global.v4.u32 {%4, %5, %6, %7}, [%8 + 16];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]), "=r"(to[4]), "=r"(to[5]), "=r"(to[6]), "=r"(to[7])
      : "l"(from));
}
#endif

// All sixteen from an address that is a multiple of 16 bytes.
template <class IN>
DIECAST_DEVICE LoadedBlock16<IN> load_block16(const IN* x) {
  LoadedBlock16<IN> block;
  if constexpr (bits<IN>() == 8) {
    const auto bytes = load_streaming<16 * bits<IN>() / 8>(x);
    f16_of_e4m3(bytes.words, block.words);
  } else {
#if DIECAST_HOST
    typedef u32 Eight __attribute__((vector_size(32)));  // as it is looked at next: in one piece
    for (int i = 0; i < block.kWords; i += 8) {
      Eight eight;
      __builtin_memcpy(&eight, x + i * (32 / bits<IN>()), sizeof eight);
      __builtin_memcpy(block.words + i, &eight, sizeof eight);
    }
#else
    load_sector(x, block.words);
    if constexpr (bits<IN>() == 32) load_sector(x + 8, block.words + 8);
#endif
  }
  return block;
}

// The elements of so many words from any address on, 4 or 8 (8 of 16 bits alone); zeros from `count` on. On a GPU all loads
// are on their way before the first is waited for; as one piece of assembly, which the compiler has little to do with.
template <class IN, int Words>
DIECAST_DEVICE void load_elements(const IN* x, int count, u32* words) {
#if DIECAST_HOST
  constexpr int kPerWord = 32 / bits<IN>();
  for (int w = 0; w < Words; ++w) words[w] = 0;
  for (int i = 0; i < Words * kPerWord && i < count; ++i) {
    words[i / kPerWord] |= to_bits(x[i]) << (i % kPerWord * bits<IN>());
  }
#else
#define DIECAST_LOAD(type, to, x, at, count, nth) \
  " mov.b32 " to ", 0;\n setp.gt.s32 p, " count ", " nth ";\n@p ld.global." type " " to ", [" x " + " at "];\n"
#define DIECAST_LOAD_EIGHT(x, count)            \
  DIECAST_LOAD("u16", "a", x, "0", count, "0")  \
  DIECAST_LOAD("u16", "b", x, "2", count, "1")  \
  DIECAST_LOAD("u16", "c", x, "4", count, "2")  \
  DIECAST_LOAD("u16", "d", x, "6", count, "3")  \
  DIECAST_LOAD("u16", "e", x, "8", count, "4")  \
  DIECAST_LOAD("u16", "f", x, "10", count, "5") \
  DIECAST_LOAD("u16", "g", x, "12", count, "6") \
  DIECAST_LOAD("u16", "h", x, "14", count, "7")
#define DIECAST_LOAD_NEXT_EIGHT(x, count)        \
  DIECAST_LOAD("u16", "i", x, "16", count, "8")  \
  DIECAST_LOAD("u16", "j", x, "18", count, "9")  \
  DIECAST_LOAD("u16", "k", x, "20", count, "10") \
  DIECAST_LOAD("u16", "l", x, "22", count, "11") \
  DIECAST_LOAD("u16", "m", x, "24", count, "12") \
  DIECAST_LOAD("u16", "n", x, "26", count, "13") \
  DIECAST_LOAD("u16", "o", x, "28", count, "14") \
  DIECAST_LOAD("u16", "q", x, "30", count, "15")
#define DIECAST_PACKED(word, low, high) " prmt.b32 " word ", " low ", " high ", 0x5410;\n"
#define DIECAST_PACK_EIGHT \
  DIECAST_PACKED("%0", "a", "b") DIECAST_PACKED("%1", "c", "d") DIECAST_PACKED("%2", "e", "f") DIECAST_PACKED("%3", "g", "h")
  if constexpr (bits<IN>() == 32) {
    static_assert(Words == 4);
    asm("{\n .reg .pred p;\n" DIECAST_LOAD("b32", "%0", "%4", "0", "%5", "0") DIECAST_LOAD("b32", "%1", "%4", "4", "%5", "1")
            DIECAST_LOAD("b32", "%2", "%4", "8", "%5", "2") DIECAST_LOAD("b32", "%3", "%4", "12", "%5", "3") "}"
        : "=&r"(words[0]), "=&r"(words[1]), "=&r"(words[2]), "=&r"(words[3])
        : "l"(x), "r"(count));
  } else if constexpr (Words == 4) {
    asm("{\n .reg .pred p;\n .reg .b32 a, b, c, d, e, f, g, h;\n" DIECAST_LOAD_EIGHT("%4", "%5") DIECAST_PACK_EIGHT "}"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(x), "r"(count));
  } else {
    asm("{\n .reg .pred p;\n .reg .b32 a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q;\n" DIECAST_LOAD_EIGHT("%8", "%9")
            DIECAST_LOAD_NEXT_EIGHT("%8", "%9") DIECAST_PACK_EIGHT DIECAST_PACKED("%4", "i", "j") DIECAST_PACKED("%5", "k", "l")
                DIECAST_PACKED("%6", "m", "n") DIECAST_PACKED("%7", "o", "q") "}"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]), "=r"(words[4]), "=r"(words[5]), "=r"(words[6]),
          "=r"(words[7])
        : "l"(x), "r"(count));
  }
#undef DIECAST_PACK_EIGHT
#undef DIECAST_PACKED
#undef DIECAST_LOAD_NEXT_EIGHT
#undef DIECAST_LOAD_EIGHT
#undef DIECAST_LOAD
#endif
}

// The first `count` (at most 16) from any address, zeros behind them. For tails and rows without
// alignment.
template <class IN>
DIECAST_DEVICE LoadedBlock16<IN> load_block16_elements(const IN* x, i64 count) {
  LoadedBlock16<IN> block;
  if constexpr (bits<IN>() == 8) {
    u32 bytes[4] = {};
    DIECAST_UNROLL
    for (int i = 0; i < 16; ++i) {
      if (i < count) bytes[i / 4] |= u32{x[i].bits} << (i % 4 * 8);
    }
    f16_of_e4m3(bytes, block.words);
  } else {
    constexpr int kAtOnce = bits<IN>() == 32 ? 4 : 16;
    const int present = count < 16 ? static_cast<int>(count) : 16;
    DIECAST_UNROLL
    for (int i = 0; i < 16; i += kAtOnce) {
      load_elements<IN, bits<IN>() == 32 ? 4 : 8>(x + i, present - i, block.words + i);
    }
  }
  return block;
}

}  // namespace diecast
