// The sums of a tile (gemm_tile.h) on tensor cores, of f16 numbers (Math 0) or of bytes (Math 1). They are in
// registers that the assembly names, as what is multiplied is: a compiler's optimizer would carry every sum by
// itself through all loops and branches, for the same machine code. So a kernel has such sums once. Of 16x8
// piece (m, n), which is rows m and columns n of the warp's: sum<m><n>_0 to 3. Rows m of a: a<m>_0 to 3, of
// bytes rows m and m + 1. Columns of b: b0 to 3. Scales of bytes: row<m>_0 and 1, col<n>_0 and 1; less<n>_0 and 1
// are the columns' times what an integer has too much, negative.
#pragma once

#include <diecast/device/gemm/gemm_tile.h>

#if !DIECAST_HOST

namespace diecast {

// A statement for each quarter of a warp's tile, two rows and two columns of pieces: some tiles have one or two.
#define DIECAST_GEMM_QUARTERS(statement)                \
  statement(0, 1, 0, 1);                                \
  if constexpr (Warp::kM == 4) statement(2, 3, 0, 1);   \
  if constexpr (Warp::kN == 4) {                        \
    statement(0, 1, 2, 3);                              \
    if constexpr (Warp::kM == 4) statement(2, 3, 2, 3); \
  }
#define DIECAST_GEMM_ZERO(m, n)                                                           \
  ".reg .f32 sum" #m #n "_<4>;\n mov.f32 sum" #m #n "_0, 0f00000000;\n mov.f32 sum" #m #n \
  "_1, 0f00000000;\n"                                                                     \
  " mov.f32 sum" #m #n "_2, 0f00000000;\n mov.f32 sum" #m #n "_3, 0f00000000;\n"
#define DIECAST_GEMM_ZEROS(m0, m1, n0, n1) \
  asm volatile(DIECAST_GEMM_ZERO(m0, n0) DIECAST_GEMM_ZERO(m0, n1) DIECAST_GEMM_ZERO(m1, n0) DIECAST_GEMM_ZERO(m1, n1))
#define DIECAST_GEMM_STORE(m, n0, n1)                                                                   \
  asm volatile("st.shared.v2.f32 [%0], {sum" #m #n0 "_0, sum" #m #n0                                    \
               "_1};\n"                                                                                 \
               "st.shared.v2.f32 [%0 + 32], {sum" #m #n1 "_0, sum" #m #n1                               \
               "_1};\n"                                                                                 \
               "st.shared.v2.f32 [%0 + %1], {sum" #m #n0 "_2, sum" #m #n0                               \
               "_3};\n"                                                                                 \
               "st.shared.v2.f32 [%0 + %2], {sum" #m #n1 "_2, sum" #m #n1 "_3};\n" ::"r"(at + 32 * n0), \
               "n"(32 * Pitch), "n"(32 * Pitch + 32)                                                    \
               : "memory")
#define DIECAST_GEMM_STORE_ROWS(m)                            \
  if (nth == m) {                                             \
    DIECAST_GEMM_STORE(m, 0, 1);                              \
    if constexpr (Warp::kN == 4) DIECAST_GEMM_STORE(m, 2, 3); \
  }

// Four 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8.
#define DIECAST_LOAD_MATRICES(to, at) "ldmatrix.sync.aligned.m8n8.x4.shared.b16 " to ", [" at "];\n"

template <int MTile, int NTile>
struct GemmTensorSums : GemmWarp<MTile, NTile> {
  using Warp = GemmWarp<MTile, NTile>;

  DIECAST_DEVICE GemmTensorSums() {
    asm volatile(".reg .b32 a0_<4>, a1_<4>, a2_<4>, a3_<4>, b<4>;");
    DIECAST_GEMM_QUARTERS(DIECAST_GEMM_ZEROS)
  }

  // As those of gemm_tile.h.
  template <int Pitch>
  DIECAST_DEVICE void put(int nth, f32* to) const {
    const u32 at = shared_address(to + this->lane / 4 * Pitch + this->lane % 4 * 2);
    DIECAST_GEMM_STORE_ROWS(0)
    DIECAST_GEMM_STORE_ROWS(1)
    if constexpr (Warp::kM == 4) {
      DIECAST_GEMM_STORE_ROWS(2)
      DIECAST_GEMM_STORE_ROWS(3)
    }
  }
};

// Adds 16x16 of a times the transpose of 8x16 of b to piece (m, n).
#define DIECAST_GEMM_ADD_F16(m, n, low, high)                                                                  \
  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d0, d1, d2, d3}, {a" #m "_0, a" #m "_1, a" #m "_2, a" #m \
  "_3}, "                                                                                                      \
  "{b" #low ", b" #high                                                                                        \
  "}, {zero, zero, zero, zero};\n"                                                                             \
  "add.rn.f32 sum" #m #n "_0, sum" #m #n "_0, d0;\n add.rn.f32 sum" #m #n "_1, sum" #m #n                      \
  "_1, d1;\n"                                                                                                  \
  "add.rn.f32 sum" #m #n "_2, sum" #m #n "_2, d2;\n add.rn.f32 sum" #m #n "_3, sum" #m #n "_3, d3;\n"
#define DIECAST_GEMM_F16_PRODUCTS(m0, m1, n0, n1)                                                          \
  asm volatile("{\n.reg .f32 d<4>, zero;\n mov.f32 zero, 0f00000000;\n" DIECAST_GEMM_ADD_F16(m0, n0, 0, 1) \
                   DIECAST_GEMM_ADD_F16(m0, n1, 2, 3) DIECAST_GEMM_ADD_F16(m1, n0, 0, 1) DIECAST_GEMM_ADD_F16(m1, n1, 2, 3) "}")

template <int MTile, int NTile>
struct GemmSums<0, MTile, NTile> : GemmTensorSums<MTile, NTile> {
  using Warp = GemmWarp<MTile, NTile>;
  using Stage = GemmStage<true, MTile, NTile>;
  static constexpr f32 kUnit = 0x1p14f;
  static constexpr int kPiece = 16 * Stage::kRowBytes;

  DIECAST_DEVICE void add(const Stage& from, int block) {
    const int lane = this->lane, col = MTile + this->col;
    const u32 codes = shared_address(from.codes);
    // A row begins at a multiple of 128 bytes: in it the block is bits of an address.
    const u32 a_at = (codes + Stage::place(this->row + lane % 16, lane / 16)) ^ 32 * block;
    const u32 b_at = (codes + Stage::place(col + lane / 16 * 8 + lane % 8, lane / 8 % 2)) ^ 32 * block;
    asm volatile(DIECAST_LOAD_MATRICES("{a0_0, a0_1, a0_2, a0_3}", "%0")
                     DIECAST_LOAD_MATRICES("{a1_0, a1_1, a1_2, a1_3}", "%0 + %1")::"r"(a_at),
                 "n"(kPiece)
                 : "memory");
    if constexpr (Warp::kM == 4) {
      asm volatile(DIECAST_LOAD_MATRICES("{a2_0, a2_1, a2_2, a2_3}", "%0 + %1")
                       DIECAST_LOAD_MATRICES("{a3_0, a3_1, a3_2, a3_3}", "%0 + %2")::"r"(a_at),
                   "n"(2 * kPiece), "n"(3 * kPiece)
                   : "memory");
    }
    asm volatile(DIECAST_LOAD_MATRICES("{b0, b1, b2, b3}", "%0")::"r"(b_at) : "memory");
    DIECAST_GEMM_F16_PRODUCTS(0, 1, 0, 1);
    if constexpr (Warp::kM == 4) DIECAST_GEMM_F16_PRODUCTS(2, 3, 0, 1);
    if constexpr (Warp::kN == 4) {
      asm volatile(DIECAST_LOAD_MATRICES("{b0, b1, b2, b3}", "%0 + %1")::"r"(b_at), "n"(kPiece) : "memory");
      DIECAST_GEMM_F16_PRODUCTS(0, 1, 2, 3);
      if constexpr (Warp::kM == 4) DIECAST_GEMM_F16_PRODUCTS(2, 3, 2, 3);
    }
  }
};

#if !DIECAST_NO_MATH

// The same of signed bytes, under the scales of this lane's two rows and two columns. An integer d below
// 2^22 added to the bits of M = 1.5 * 2^23 is the float M + d; times a column's scale, minus M times the
// scale, it is d times the scale, exactly.
#define DIECAST_GEMM_SCALED(m, n, i, row, col)                                   \
  " mov.b32 x, d" #i ";\n fma.rn.f32 x, x, col" #n "_" #col ", less" #n "_" #col \
  ";\n"                                                                          \
  " fma.rn.f32 sum" #m #n "_" #i ", x, row" #m "_" #row ", sum" #m #n "_" #i ";\n"
#define DIECAST_GEMM_ADD_S8(m, n, low, high)                                                                                    \
  "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {d0, d1, d2, d3}, {" low ", " high "}, {b" #n                                \
  "}, {m, m, m, m};\n" DIECAST_GEMM_SCALED(m, n, 0, 0, 0) DIECAST_GEMM_SCALED(m, n, 1, 0, 1) DIECAST_GEMM_SCALED(m, n, 2, 1, 0) \
      DIECAST_GEMM_SCALED(m, n, 3, 1, 1)
#define DIECAST_GEMM_S8_PRODUCTS(m0, m1, n0, n1)                                                                              \
  asm volatile(                                                                                                               \
      "{\n.reg .s32 d<4>, m;\n.reg .f32 x;\nmov.s32 m, 0x4B400000;\n" DIECAST_GEMM_ADD_S8(m0, n0, "a" #m0 "_0", "a" #m0 "_1") \
          DIECAST_GEMM_ADD_S8(m1, n0, "a" #m0 "_2", "a" #m0 "_3") DIECAST_GEMM_ADD_S8(m0, n1, "a" #m0 "_0", "a" #m0 "_1")     \
              DIECAST_GEMM_ADD_S8(m1, n1, "a" #m0 "_2", "a" #m0 "_3") "}")
// a of rows m0 and m1, with scales; scales of columns.
#define DIECAST_GEMM_LOAD_S8_ROWS(m0, m1)                                                                   \
  asm volatile(DIECAST_LOAD_MATRICES("{a" #m0 "_0, a" #m0 "_1, a" #m0 "_2, a" #m0 "_3}",                    \
                                     "%0") "ld.shared.f32 row" #m0 "_0, [%1];\n ld.shared.f32 row" #m0      \
                                           "_1, [%1 + 32];\n"                                               \
                                           "ld.shared.f32 row" #m1 "_0, [%1 + 64];\n ld.shared.f32 row" #m1 \
                                           "_1, [%1 + 96];\n" ::"r"(a_at + 16 * m0 * Stage::kRowBytes),     \
               "r"(row_at + 64 * m0)                                                                        \
               : "memory")
#define DIECAST_GEMM_LOAD_S8_COL(n, at)                                                      \
  "ld.shared.v2.f32 {col" #n "_0, col" #n "_1}, [" at "];\n mul.rn.f32 less" #n "_0, col" #n \
  "_0, 0fCB400000;\n"                                                                        \
  "mul.rn.f32 less" #n "_1, col" #n "_1, 0fCB400000;\n"
#define DIECAST_GEMM_LOAD_S8_COLS(n0, n1) \
  asm volatile(DIECAST_GEMM_LOAD_S8_COL(n0, "%0") DIECAST_GEMM_LOAD_S8_COL(n1, "%0 + 32")::"r"(col_at + 32 * n0) : "memory")

template <int MTile, int NTile>
struct GemmSums<1, MTile, NTile> : GemmTensorSums<MTile, NTile> {
  using Warp = GemmWarp<MTile, NTile>;
  using Stage = GemmStage<false, MTile, NTile>;
  static constexpr f32 kUnit = 0.25f;

  DIECAST_DEVICE GemmSums() {
    asm volatile(
        ".reg .f32 row0_<2>, row1_<2>, row2_<2>, row3_<2>, col0_<2>, col1_<2>, col2_<2>, col3_<2>;\n"
        ".reg .f32 less0_<2>, less1_<2>, less2_<2>, less3_<2>;");
  }

  DIECAST_DEVICE void add(const Stage& from, int block) {
    const int lane = this->lane, row = this->row, col = MTile + this->col;
    const u32 codes = shared_address(from.codes);
    const u32 a_at = (codes + Stage::place(row + lane, 0)) ^ 16 * block;
    // The instruction takes 32 rows; where a warp has 16 it gets them twice: behind them stands what
    // others may be writing.
    const u32 b_at = (codes + Stage::place(col + lane % Warp::kWarpCols, 0)) ^ 16 * block;
    const u32 scales = shared_address(from.scales + block * Stage::kRows);
    const u32 row_at = scales + 4 * (row + lane / 4), col_at = scales + 4 * (col + lane % 4 * 2);
    DIECAST_GEMM_LOAD_S8_ROWS(0, 1);
    if constexpr (Warp::kM == 4) DIECAST_GEMM_LOAD_S8_ROWS(2, 3);
    asm volatile(DIECAST_LOAD_MATRICES("{b0, b1, b2, b3}", "%0")::"r"(b_at) : "memory");
    DIECAST_GEMM_LOAD_S8_COLS(0, 1);
    DIECAST_GEMM_S8_PRODUCTS(0, 1, 0, 1);
    if constexpr (Warp::kM == 4) DIECAST_GEMM_S8_PRODUCTS(2, 3, 0, 1);
    if constexpr (Warp::kN == 4) {
      DIECAST_GEMM_LOAD_S8_COLS(2, 3);
      DIECAST_GEMM_S8_PRODUCTS(0, 1, 2, 3);
      if constexpr (Warp::kM == 4) DIECAST_GEMM_S8_PRODUCTS(2, 3, 2, 3);
    }
  }
};

#endif

}  // namespace diecast

#endif
