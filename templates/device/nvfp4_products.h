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
// a code in f16's place are the value times 2^-14. `scale`: twice the same.
DIECAST_DEVICE Vector<16> scaled_codes(u32 codes, u32 scale) {
  Vector<16> pairs;
DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    const u32 at = codes << (4 * i);  // the code that comes to bits 12 to 15, and the one 16 above it
    const u32 magnitude = i == 0 ? codes >> 3 : codes << (4 * i - 3);
    pairs.words[i] = (at & 0x80008000u) | (magnitude & 0x0E000E00u);
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(pairs.words[i]) : "r"(scale));
  }
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

DIECAST_DEVICE u32 shared_address(const void* pointer) {
  u64 address;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return static_cast<u32>(address);
}

// 16x16 times the transpose of 8x16: this lane's four sums.
DIECAST_DEVICE void multiply_f16(f32 (&d)[4], const Vector<16>& a, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b0), "r"(b1), "f"(0.0f));
}

// The same of signed bytes, each sum as a float: an integer below 2^22 added to the bits of 1.5 * 2^23
// is that float plus the integer.
DIECAST_DEVICE void multiply_s8(f32 (&d)[4], u32 a0, u32 a1, u32 b) {
  u32 sums[4];
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
      : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(0x4B400000u));
DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) d[i] = __fsub_rn(__uint_as_float(sums[i]), 12582912.0f);
}

#endif

}  // namespace diecast
