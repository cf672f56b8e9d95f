// A tile of an NVFP4 product in a thread block of eight warps, two by four: what of both operands is in shared
// memory at a time, and every thread's sums. Where Math is 0 (f16, not on the host) codes are f16
// numbers that hold their scales; else (1: bytes on tensor cores, 2: without) they are bytes, and the
// scales stand beside them as f32. The host has integers alone. Blocks are added in order, one
// rounding each, whatever Math is.
#pragma once

#include <diecast/device/gemm/nvfp4_products.h>

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

// A warp's tile within the block's, and what every lane has of it: of 16x8 pieces rows lane / 4 and 8
// below, columns 2 * (lane % 4) and the next, four sums in this order.
template <int MTile, int NTile>
struct GemmWarp {
  static constexpr int kWarpRows = MTile / 2, kWarpCols = NTile / 4;
  static constexpr int kM = kWarpRows / 16, kN = kWarpCols / 8;
  int lane, row, col;  // row and column of the warp's tile

  DIECAST_DEVICE GemmWarp() {
    const int warp = threadIdx.x / 32;
    lane = threadIdx.x % 32, row = warp / 4 * kWarpRows, col = warp % 4 * kWarpCols;
  }
};

// Without tensor cores.
template <int Math, int MTile, int NTile>
struct GemmSums : GemmWarp<MTile, NTile> {
  using Warp = GemmWarp<MTile, NTile>;
  using Stage = GemmStage<false, MTile, NTile>;
  using Warp::col, Warp::kM, Warp::kN, Warp::lane, Warp::row;
  static constexpr f32 kUnit = 0.25f;  // what the sums are short of
  f32 of[kM][kN][4];

  DIECAST_DEVICE GemmSums() {
    DIECAST_UNROLL
    for (int i = 0; i < kM * kN * 4; ++i) of[i / (kN * 4)][i / 4 % kN][i % 4] = 0.0f;
  }

  // Adds the products of one block of the stage.
  DIECAST_DEVICE void add(const Stage& from, int block) {
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

  // The sums of 16 rows, `nth` of the warp's, into a matrix of the warp, whose rows begin at multiples of 8 bytes.
  template <int Pitch>
  DIECAST_DEVICE void put(int nth, f32* to) const {
    to += lane / 4 * Pitch + lane % 4 * 2;
    DIECAST_UNROLL
    for (int i = 0; i < kM * kN * 2; ++i) {
      if (i / (2 * kN) != nth) continue;
      const f32* two = of[i / (2 * kN)][i / 2 % kN] + i % 2 * 2;
      *reinterpret_cast<Vector<8>*>(to + i % 2 * 8 * Pitch +
                                    i / 2 % kN * 8) = {{__float_as_uint(two[0]), __float_as_uint(two[1])}};
    }
  }
};

}  // namespace diecast
