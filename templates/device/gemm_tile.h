// A tile of an NVFP4 product in a block of eight warps, two by four: what of both operands is in shared
// memory at a time, and every thread's sums. Where Math is 0 (f16, not on the host) codes are f16
// numbers that hold their scales; else (1: bytes on tensor cores, 2: without) they are bytes, and the
// scales stand beside them as f32. The host has integers alone. Blocks are added in order, one
// rounding each, whatever Math is.
#pragma once

#include <diecast/device/nvfp4_products.h>

namespace diecast {

// Rows of a, then rows of b. Pieces of 16 bytes are swapped within a row, so that eight rows' lie in
// different banks.
template <bool Halves, int MTile, int NTile>
struct GemmStage {
  static constexpr bool kHalves = Halves;
  static constexpr int kBlocks = 4, kRows = MTile + NTile;  // blocks along depth, of each row
  static constexpr int kRowBytes = kBlocks * (Halves ? 32 : 16);
  u8* codes;
  f32* scales;  // [kBlocks][kRows], where codes are bytes

  DIECAST_DEVICE explicit GemmStage(int index) {
    u8* all = dynamic_shared<u8>();
    codes = all + index * (kRows * kRowBytes);
    scales = reinterpret_cast<f32*>(all + 2 * kRows * kRowBytes) + index * (kRows * kBlocks);
  }
  DIECAST_DEVICE static int place(int row, int piece) {
    return row * kRowBytes + 16 * (piece ^ (Halves ? row & 7 : row >> 1 & 3));
  }
};

template <int Math, int MTile, int NTile>
struct GemmSums {
  using Stage = GemmStage<Math == 0 && !DIECAST_HOST, MTile, NTile>;
  static constexpr int kWarpRows = MTile / 2, kWarpCols = NTile / 4;
  static constexpr int kM = kWarpRows / 16, kN = kWarpCols / 8;
  static constexpr f32 kUnit = Stage::kHalves ? 0x1p14f : 0.25f;  // what the sums are short of

  // Of 16x8 pieces of the warp's tile: rows lane / 4 and 8 below, columns 2 * (lane % 4) and the next.
  f32 of[kM][kN][4];
  int lane, row, col;  // row and column of the warp's tile within the block's

  DIECAST_DEVICE GemmSums() {
    const int warp = threadIdx.x / 32;
    lane = threadIdx.x % 32, row = warp / 4 * kWarpRows, col = warp % 4 * kWarpCols;
DIECAST_UNROLL
    for (int i = 0; i < kM * kN * 4; ++i) of[i / (kN * 4)][i / 4 % kN][i % 4] = 0.0f;
  }

#if !DIECAST_HOST
  DIECAST_DEVICE void add_f16(const Stage& from, int block) {
    const u32 codes = shared_address(from.codes);
    const u32 a_at = codes + Stage::place(row + lane % 16, 2 * block + lane / 16);
    const u32 b_at = codes + Stage::place(MTile + col + lane / 16 * 8 + lane % 8, 2 * block + lane / 8 % 2);
    Vector<16> a[kM];
DIECAST_UNROLL
    for (int i = 0; i < kM; ++i) a[i] = load_matrices(a_at + 16 * i * Stage::kRowBytes);
DIECAST_UNROLL
    for (int j = 0; j < kN; j += 2) {
      const Vector<16> b = load_matrices(b_at + 8 * j * Stage::kRowBytes);
DIECAST_UNROLL
      for (int i = 0; i < 2 * kM; ++i) {
        multiply_add_f16(of[i / 2][j + i % 2], a[i / 2], b.words[i % 2 * 2], b.words[i % 2 * 2 + 1]);
      }
    }
  }

  DIECAST_DEVICE void add_s8(const Stage& from, int block) {
    const u32 codes = shared_address(from.codes);
    const u32 a_at = codes + Stage::place(row + lane, block);
    // The instruction takes 32 rows; where a warp has 16 it gets them twice: behind them stands what
    // others may be writing.
    const u32 b_at = codes + Stage::place(MTile + col + lane % kWarpCols, block);
    const f32* scales = from.scales + block * Stage::kRows;
    Vector<16> a[kM / 2];
    f32 of_rows[kM][2];
DIECAST_UNROLL
    for (int i = 0; i < kM; ++i) {
      if (i % 2 == 0) a[i / 2] = load_matrices(a_at + 16 * i * Stage::kRowBytes);
      of_rows[i][0] = scales[row + 16 * i + lane / 4];
      of_rows[i][1] = scales[row + 16 * i + lane / 4 + 8];
    }
    Vector<16> b;
DIECAST_UNROLL
    for (int j = 0; j < kN; ++j) {
      if (j % 4 == 0) b = load_matrices(b_at + 8 * j * Stage::kRowBytes);
      const Vector<8> pair = *reinterpret_cast<const Vector<8>*>(scales + MTile + col + 8 * j + lane % 4 * 2);
      const f32 of_cols[2] = {__uint_as_float(pair.words[0]), __uint_as_float(pair.words[1])};
      const f32 shift[2] = {of_cols[0] * -12582912.0f, of_cols[1] * -12582912.0f};
DIECAST_UNROLL
      for (int i = 0; i < kM; ++i) {
        multiply_add_s8(of[i][j], a[i / 2].words[i % 2 * 2], a[i / 2].words[i % 2 * 2 + 1], b.words[j % 4],
                        of_rows[i], of_cols, shift);
      }
    }
  }
#endif

  // The same without tensor cores.
  DIECAST_DEVICE void add_plain(const Stage& from, int block) {
    const f32* scales = from.scales + block * Stage::kRows;
DIECAST_UNROLL
    for (int j = 0; j < 2 * kN; ++j) {
      const int n = MTile + col + j / 2 * 8 + lane % 4 * 2 + j % 2;
      const Vector<16> b = *reinterpret_cast<const Vector<16>*>(from.codes + Stage::place(n, block));
DIECAST_UNROLL
      for (int i = 0; i < 2 * kM; ++i) {
        const int m = row + i * 8 + lane / 4;
        const Vector<16> a = *reinterpret_cast<const Vector<16>*>(from.codes + Stage::place(m, block));
        f32& sum = of[i / 2][j / 2][i % 2 * 2 + j % 2];
        sum = add_exact(sum, static_cast<f32>(dot16(a, b)), scales[m] * scales[n]);
      }
    }
  }

  // Adds the products of one block of the stage.
  DIECAST_DEVICE void add(const Stage& from, int block) {
#if DIECAST_HOST
    add_plain(from, block);
#else
    if constexpr (Math == 0) add_f16(from, block);
    if constexpr (Math == 1) add_s8(from, block);
    if constexpr (Math == 2) add_plain(from, block);
#endif
  }

  // The sums of 16 rows into a matrix of the warp, whose rows begin at multiples of 8 bytes.
  DIECAST_DEVICE void put(int rows, f32* to, int pitch) const {
    to += lane / 4 * pitch + lane % 4 * 2;
DIECAST_UNROLL
    for (int i = 0; i < 2 * kN; ++i) {
      const f32* two = of[rows][i / 2] + i % 2 * 2;
      *reinterpret_cast<Vector<8>*>(to + i % 2 * 8 * pitch + i / 2 * 8) = {{__float_as_uint(two[0]), __float_as_uint(two[1])}};
    }
  }
};

}  // namespace diecast
