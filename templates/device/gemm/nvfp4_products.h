// Dot products of NVFP4 blocks, exact: the codes of two blocks as integers or as f16 numbers that hold
// their block's scale already, in shared memory, and products of 16x16 by 8x16 of them in a warp.
// Integers: doubled codes are at most 12, so a block's product is at most 2304. f16: a code times its
// scale has a significand of 6 bits, so every sum of 16 products of one scale pair has at most 19, and
// an addition in single precision, in any order, rounds nothing.
#pragma once

#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>

namespace diecast {

// Sixteen codes, doubled, as signed bytes in the order of the codes, to 16 bytes of shared memory.
DIECAST_DEVICE void store_doubled_codes(u8* to, u32 first, u32 second) {
#if DIECAST_HOST
  static constexpr signed char kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (int i = 0; i < 16; ++i) {
    to[i] = static_cast<u8>(kDoubled[(i < 8 ? first : second) >> (4 * (i % 8)) & 15u]);
  }
#else
// Bytes by codes without signs, as they are and negative; which of them, by bytes of 255 or 0: a selector 12 asks for the sign
// of 0x80 eight times.
#define DIECAST_FOUR(to)                                                    \
  " prmt.b32 " to                                                           \
  ", 0x03020100, 0x0C080604, m;\n prmt.b32 n, 0xFDFEFF00, 0xF4F8FAFC, m;\n" \
  " prmt.b32 t, 0, 0x80, s;\n lop3.b32 " to ", " to ", n, t, 0xD8;\n"
#define DIECAST_EIGHT(codes, low, high)                  \
  " and.b32 s, " codes                                   \
  ", 0x88888888;\n shr.u32 t, s, 1;\n or.b32 s, s, t;\n" \
  " and.b32 m, " codes ", 0x77777777;\n" DIECAST_FOUR(low) " shr.u32 m, m, 16;\n shr.u32 s, s, 16;\n" DIECAST_FOUR(high)
  asm volatile("{\n.reg .b32 m, n, s, t, w<4>;\n" DIECAST_EIGHT("%1", "w0", "w1")
                   DIECAST_EIGHT("%2", "w2", "w3") " st.shared.v4.b32 [%0], {w0, w1, w2, w3};\n}" ::"r"(shared_address(to)),
               "r"(first), "r"(second)
               : "memory");
#undef DIECAST_EIGHT
#undef DIECAST_FOUR
#endif
}

// The dot product of 16 signed bytes.
DIECAST_DEVICE i32 dot16(const Vector<16>& a, const Vector<16>& b) {
  i32 sum = 0;
#if DIECAST_HOST
  signed char left[16], right[16];
  __builtin_memcpy(left, &a, 16);
  __builtin_memcpy(right, &b, 16);
  for (int i = 0; i < 16; ++i) sum += left[i] * right[i];
#else
  DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a.words[i]), "r"(b.words[i]));
  }
#endif
  return sum;
}

// sum + dot * scale, where the product is exact.
DIECAST_DEVICE f32 add_exact(f32 sum, f32 dot, f32 scale) {
#if DIECAST_HOST
  return sum + dot * scale;  // where a fused multiplication would be a call
#else
  return __fmaf_rn(dot, scale, sum);
#endif
}

#if !DIECAST_HOST

// Codes of two blocks of 16 times their scales, times 2^-7, as f16 in an order that is the same for all blocks, to four places
// of 16 bytes in shared memory: `at` and at with 16, 32 and 48 put into it by xor. `scales`: the blocks' in either half of a
// word. The bits of an E4M3 in f16's place are the value times 2^-8, the bits of a code there the value times 2^-14. Of a word
// of codes word i has those of bits 12 - 4i on and 28 - 4i on. (One piece of assembly: a compiler is slow on so many operations.)
DIECAST_DEVICE void store_scaled_codes(u32 at, const u32 (&words)[4], u32 scales) {
#define DIECAST_PAIR(word, to_sign, to_magnitude)     \
  to_sign " and.b32 s, s, 0x80008000;\n" to_magnitude \
          " lop3.b32 s, m, 0x0E000E00, s, 0xEA;\n"    \
          "mul.rn.f16x2 " word ", s, scale;\n"
#define DIECAST_EIGHT(codes, place)                                           \
  DIECAST_PAIR("w0", "mov.b32 s, " codes ";", "shr.b32 m, " codes ", 3;")     \
  DIECAST_PAIR("w1", "shl.b32 s, " codes ", 4;", "shl.b32 m, " codes ", 1;")  \
  DIECAST_PAIR("w2", "shl.b32 s, " codes ", 8;", "shl.b32 m, " codes ", 5;")  \
  DIECAST_PAIR("w3", "shl.b32 s, " codes ", 12;", "shl.b32 m, " codes ", 9;") \
  " xor.b32 m, %0, " place ";\n st.shared.v4.b32 [m], {w0, w1, w2, w3};\n"
#define DIECAST_IF_NAN(half)                                            \
  " and.b32 m, %5, 0x7F << " half ";\n setp.eq.u32 p, m, 0x7F << " half \
  ";\n"                                                                 \
  "@p or.b32 both, both, 0x7FFF << " half ";\n"
  asm volatile(
      "{\n.reg .b32 s, m, scale, both, w<4>;\n.reg .pred p;\n"
      " and.b32 s, %5, 0x00800080;\n shl.b32 s, s, 8;\n and.b32 m, %5, 0x007F007F;\n shl.b32 m, m, 7;\n"
      " or.b32 both, s, m;\n mov.b32 s, 0x78007800;\n mul.rn.f16x2 both, both, s;\n" DIECAST_IF_NAN("0")
          DIECAST_IF_NAN("16") " prmt.b32 scale, both, 0, 0x1010;\n" DIECAST_EIGHT("%1", "0") DIECAST_EIGHT(
              "%2", "16") " prmt.b32 scale, both, 0, 0x3232;\n" DIECAST_EIGHT("%3", "32") DIECAST_EIGHT("%4", "48") "}" ::"r"(at),
      "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(scales)
      : "memory");
#undef DIECAST_IF_NAN
#undef DIECAST_EIGHT
#undef DIECAST_PAIR
}

#endif

}  // namespace diecast
