// A weight [n, k] of NVFP4 or MXFP4, packed for tensor cores: tiles of 64 rows by 64 columns, one
// behind the other along a row of tiles, each a run of TILE_BYTES that one bulk copy brings: first
// 2048 bytes of codes, then the scales. Rows beyond n and columns beyond k have codes of zero and
// scales of one. The same bytes serve x of bf16 and of f16.
//
// Codes: thread t of 128 owns the 16 bytes at 16 * t. Its word s is what it gives step s (16 columns)
// of mma.m16n8k16, or of wgmma with A in registers: pairs 0 to 3 of codes, as registers a0 to a3 have
// them. Warp w = t / 32 has rows 16 * w to 16 * w + 15, lane l = t % 32 of them g = l / 4 and g + 8.
//   pair 0: row g,     columns 16 * s + 2 * (l % 4), + 1         pair 2: the same, 8 columns on
//   pair 1: row g + 8, columns 16 * s + 2 * (l % 4), + 1         pair 3: the same, 8 columns on
// A pair's first code lies in the low half-word. pair_codes() gives a pair with each code's sign at bit
// 15 and its magnitude at bits 8 to 6 of its half-word: as bf16, code * 2^-126. All four pairs of a word
// come to eight instructions.
//
// Scales: of the 32 pairs of rows (r, r + 8), with r = 16 * w + g, pair 8 * w + g has its bytes together.
//   NVFP4: words i = 0, 1; bytes (r, step 2 * i), (r, step 2 * i + 1), the same two of r + 8
//   MXFP4: one word; bytes (r, columns 0 to 31), (r, columns 32 to 63), the same two of r + 8
// So a word holds the scales of two rows for two steps or blocks, which pair_scales() gives as two bf16 or f16.
/* diecast
option enum FORMAT {nvfp4, mxfp4} = nvfp4                // of the weight
let  SCALE_BLOCK = FORMAT == nvfp4 ? 16 : 32             // columns that share a scale
let  TILE_BYTES  = 2048 + 64 * 64 / SCALE_BLOCK          // of a packed tile of 64 x 64
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>

namespace diecast {

template <int Format>
struct PackedTile {
  static constexpr int kSide = 64;  // rows, and columns
  static constexpr int kScaleBlock = Format == FORMAT_nvfp4 ? 16 : 32;
  static constexpr int kBlocks = kSide / kScaleBlock;  // scales of a row
  static constexpr int kCodeBytes = kSide * kSide / 2;
  static constexpr int kBytes = kCodeBytes + kSide * kBlocks;
  static constexpr int kScaleWords = kBlocks / 2;  // of a pair of rows

  // A decoded weight (code times scale) is the weight * 2^-7: what is summed is multiplied by this.
  static constexpr f32 kFactor = 128.0f;

  // Where the word lies, in bytes, that has the codes of thread t for a step.
  DIECAST_DEVICE static u32 code_place(u32 thread, u32 step) { return 16 * thread + 4 * step; }
  // The first row of a thread's pairs; the other one is 8 further.
  DIECAST_DEVICE static u32 row_of(u32 thread) { return thread / 32 * 16 + thread % 32 / 4; }
  // Where the scale byte of a row's block lies.
  DIECAST_DEVICE static u32 scale_place(u32 row, u32 block) {
    const u32 pair = row / 16 * 8 + row % 8;
    return kCodeBytes + 4 * (kScaleWords * pair + block / 2) + 2 * (row / 8 % 2) + block % 2;
  }
};

// The bits of a code in a half-word, as a bf16 has them: sign, exponent and mantissa.
constexpr u32 kCodeBits = 0x81C081C0u;

DIECAST_DEVICE u32 rotate_right(u32 word, int by) { return word >> by | word << (32 - by); }

// Pair 0 to 3 of a word of codes, each code * 2^-126 as bf16.
template <int Pair>
DIECAST_DEVICE u32 pair_codes(u32 word) {
  if constexpr (Pair == 0) return rotate_right(word, 6) & kCodeBits;
  if constexpr (Pair == 1) return rotate_right(word, 2) & kCodeBits;
  if constexpr (Pair == 2) return word << 4 & kCodeBits;
  return (word ^ word << 8) & kCodeBits;
}
// The words of a step for threads l to l + 3, whose rows are the same. Byte i of pairs[p] is what a checkpoint has as pair p of thread
// l + i: its first code in the low bits. A register has one byte of all four words until the last lines turn them.
DIECAST_DEVICE void words_of_pairs(const u32 (&pairs)[4], u32 (&words)[4]) {
  const u32 a = pairs[0], b = pairs[1], c = pairs[2], d = pairs[3];
  // Pair 3 is read as word ^ word << 8. Its four top bits thus run from byte to byte: bits 1, 3, 5, 7 with all below them.
  u32 chain = d ^ (d << 2 & 0xA8A8A8A8u);
  chain ^= chain << 4 & 0xA0A0A0A0u;
  const u32 byte0 = ((d >> 2 ^ b) & 0x01010101u) | (b >> 6 & 0x02020202u) | (c << 2 & 0x1C1C1C1Cu) | (a >> 2 & 0x20202020u) |
                    (chain << 6 & 0xC0C0C0C0u);
  const u32 byte1 = (b & 0x07070707u) | (c & 0x08080808u) | (a << 4 & 0x70707070u) | (chain << 4 & 0x80808080u);
  const u32 byte2 = ((d >> 6 ^ b >> 4) & 0x01010101u) | (b >> 2 & 0x02020202u) | (c >> 2 & 0x1C1C1C1Cu) |
                    (a << 2 & 0x20202020u) | ((d << 2 ^ a << 4) & 0x40404040u) | (chain << 2 & 0x80808080u);
  const u32 byte3 = (b >> 4 & 0x07070707u) | (c >> 4 & 0x08080808u) | (a & 0x70707070u) | (chain & 0x80808080u);
  const u32 low01 = __byte_perm(byte0, byte1, 0x5140), low23 = __byte_perm(byte0, byte1, 0x7362);
  const u32 high01 = __byte_perm(byte2, byte3, 0x5140), high23 = __byte_perm(byte2, byte3, 0x7362);
  words[0] = __byte_perm(low01, high01, 0x5410), words[1] = __byte_perm(low01, high01, 0x7632);
  words[2] = __byte_perm(low23, high23, 0x5410), words[3] = __byte_perm(low23, high23, 0x7632);
}
// The same pair as f16: code * 2^-14.
DIECAST_DEVICE u32 f16_pair_codes(u32 pair) { return (pair | pair << 3) & 0x8E008E00u; }

// A packed scale byte. NVFP4: 5 bits of exponent, 3 of mantissa, scale * 2^7 as the high byte of f16's
// magnitude, of a scale above zero; NaN is 255. MXFP4: the exponent of 2^(scale - 8) as a bf16's, the
// largest one of scales above 135; NaN is 255, infinity.
template <int Format>
DIECAST_DEVICE u32 packed_scale(u32 scale) {
  if constexpr (Format == FORMAT_mxfp4) return scale == 255u ? 255u : min(scale + 119u, 254u);
  const u32 magnitude = scale & 127u;
  if (magnitude == 127u) return 255u;
  if (magnitude >= 8u) return magnitude + 120u;
  const u32 up = static_cast<u32>(__clz(static_cast<int>(magnitude))) - 28u;  // subnormal: to 8 to 15
  return 128u - 8u * up + (magnitude << up) - 8u;
}
// The checkpoint's byte: E4M3 without a sign, or E8M0.
template <int Format>
DIECAST_DEVICE u32 unpacked_scale(u32 byte) {
  if constexpr (Format == FORMAT_mxfp4) return byte == 255u ? 255u : byte - 119u;
  if (byte == 255u) return 127u;
  if (byte >= 128u) return byte - 120u;
  return (8u | (byte & 7u)) >> (16u - byte / 8u);
}

// The scales of rows r (low half-word) and r + 8 for the even or odd step or block of a word, as bf16:
// scale * 2^119. Times pair_codes(): the weight * 2^-7.
template <int Format>
DIECAST_DEVICE u32 pair_scales(u32 word, bool odd) {
  if constexpr (Format == FORMAT_mxfp4) return (odd ? word >> 1 : word << 7) & 0x7F807F80u;
  return ((odd ? word >> 4 : word << 4) & 0x0FF00FF0u) | 0x70007000u;
}
// As f16: scale * 2^7. MXFP4: of scales 111 to 135.
template <int Format>
DIECAST_DEVICE u32 f16_pair_scales(u32 word, bool odd) {
  if constexpr (Format == FORMAT_mxfp4) return (odd ? word << 2 : word << 10) & 0x7C007C00u;
  return (odd ? word >> 1 : word << 7) & 0x7F807F80u;
}

}  // namespace diecast
