// Dot products of NVFP4 blocks, exact: the codes of two blocks as integers or as f16 numbers that hold
// their block's scale already, in shared memory, and products of 16x16 by 8x16 of them in a warp.
// Integers: doubled codes are at most 12, so a block's product is at most 2304. f16: a code times its
// scale has a significand of 6 bits, so every sum of 16 products of one scale pair has at most 19, and
// an addition in single precision, in any order, rounds nothing.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/vector.h>

namespace diecast {

// Eight codes, doubled, as signed bytes in the order of the codes.
DIECAST_DEVICE Vector<8> doubled_codes(u32 codes) {
  Vector<8> bytes;
#if DIECAST_HOST
  static constexpr signed char kDoubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  signed char each[8];
  for (int i = 0; i < 8; ++i) each[i] = kDoubled[codes >> (4 * i) & 15u];
  __builtin_memcpy(&bytes, each, 8);
#else
  const u32 sign = codes & 0x88888888u;
  const u32 asks = sign | sign >> 1;  // 12: the sign of byte 4 eight times; 0: byte 0
DIECAST_UNROLL
  for (int i = 0; i < 2; ++i) {
    const u32 at = (codes & 0x77777777u) >> (16 * i);
    const u32 plus = __byte_perm(0x03020100u, 0x0C080604u, at);
    const u32 minus = __byte_perm(0xFDFEFF00u, 0xF4F8FAFCu, at);
    u32 mask;  // __byte_perm leaves out the bit that asks for signs
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(mask) : "r"(0u), "r"(0x80u), "r"(asks >> (16 * i)));
    bytes.words[i] = (plus & ~mask) | (minus & mask);
  }
#endif
  return bytes;
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

// Two block scales, in either half of a word, times 2^7 as f16: the bits of an E4M3 in f16's place are
// the value times 2^-8.
DIECAST_DEVICE u32 f16_scales(u32 both) {
  u32 pair = (both & 0x00800080u) << 8 | (both & 0x007F007Fu) << 7;
  asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x78007800u));
  const u32 low = (both & 0x7Fu) == 0x7Fu ? 0x7FFFu : 0u;
  return pair | low | ((both & 0x7F0000u) == 0x7F0000u ? 0x7FFF0000u : 0u);
}

// Eight codes times their scale, times 2^-7, in an order that is the same for all blocks: the bits of
// a code in f16's place are the value times 2^-14. `scale`: twice the same. Word i has the codes of
// bits 12 - 4i on and 28 - 4i on. (One piece of assembly: a compiler is slow on so many operations.)
DIECAST_DEVICE Vector<16> scaled_codes(u32 codes, u32 scale) {
  Vector<16> pairs;
#define DIECAST_PAIR(word, to_sign, to_magnitude)                                              \
  to_sign " and.b32 s, s, 0x80008000;\n" to_magnitude " lop3.b32 s, m, 0x0E000E00, s, 0xEA;\n" \
          "mul.rn.f16x2 " word ", s, %5;\n"
  asm("{\n.reg .b32 s, m;\n"
      DIECAST_PAIR("%0", "mov.b32 s, %4;", "shr.b32 m, %4, 3;")
      DIECAST_PAIR("%1", "shl.b32 s, %4, 4;", "shl.b32 m, %4, 1;")
      DIECAST_PAIR("%2", "shl.b32 s, %4, 8;", "shl.b32 m, %4, 5;")
      DIECAST_PAIR("%3", "shl.b32 s, %4, 12;", "shl.b32 m, %4, 9;") "}"
      : "=&r"(pairs.words[0]), "=&r"(pairs.words[1]), "=&r"(pairs.words[2]), "=&r"(pairs.words[3])
      : "r"(codes), "r"(scale));
#undef DIECAST_PAIR
  return pairs;
}

// Four 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8.
DIECAST_DEVICE Vector<16> load_matrices(u32 address) {
  Vector<16> m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m.words[0]), "=r"(m.words[1]), "=r"(m.words[2]), "=r"(m.words[3])
               : "r"(address) : "memory");
  return m;
}

// Adds 16x16 times the transpose of 8x16 to this lane's four sums.
DIECAST_DEVICE void multiply_add_f16(f32 (&sum)[4], const Vector<16>& a, u32 b0, u32 b1) {
  asm("{\n.reg .f32 d0, d1, d2, d3, zero;\nmov.f32 zero, 0f00000000;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d0, d1, d2, d3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{zero, zero, zero, zero};\n"
      "add.rn.f32 %0, %0, d0;\nadd.rn.f32 %1, %1, d1;\nadd.rn.f32 %2, %2, d2;\nadd.rn.f32 %3, %3, d3;\n}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b0), "r"(b1));
}

// The same of signed bytes, under the scales of this lane's two rows and two columns. An integer d below
// 2^22 added to the bits of M = 1.5 * 2^23 is the float M + d; times a column's scale, minus M times the
// scale, it is d times the scale, exactly.
DIECAST_DEVICE void multiply_add_s8(f32 (&sum)[4], u32 a0, u32 a1, u32 b, const f32 (&rows)[2],
                                    const f32 (&cols)[2], const f32 (&minus_m_cols)[2]) {
#define DIECAST_SCALED(sum, d, row, col, m_col) \
  "mov.b32 x, " d ";\nfma.rn.f32 x, x, " col ", " m_col ";\nfma.rn.f32 " sum ", x, " row ", " sum ";\n"
  asm("{\n.reg .s32 d0, d1, d2, d3, m;\n.reg .f32 x;\nmov.s32 m, 0x4B400000;\n"
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {d0, d1, d2, d3}, {%4, %5}, {%6}, {m, m, m, m};\n"
      DIECAST_SCALED("%0", "d0", "%7", "%9", "%11") DIECAST_SCALED("%1", "d1", "%7", "%10", "%12")
      DIECAST_SCALED("%2", "d2", "%8", "%9", "%11") DIECAST_SCALED("%3", "d3", "%8", "%10", "%12") "}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(b), "f"(rows[0]), "f"(rows[1]), "f"(cols[0]), "f"(cols[1]), "f"(minus_m_cols[0]),
        "f"(minus_m_cols[1]));
#undef DIECAST_SCALED
}

#endif

}  // namespace diecast
