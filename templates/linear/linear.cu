// linear: out [rows, cols] = x [rows, depth] times the transpose of packed NVFP4 or MXFP4 weights, for any number of rows.
// The order: each part of the depth is a chain of steps of 16, ascending, in f32 from zero on; a tensor core adds a step as it does. On
// the host a step's products, exact, are added in order to a sum of their own, which is then added to the chain; one rounding
// an addition. The parts, of ceil(ceil(depth / 64) / SPLIT) tiles of 64, are added in order. What follows stands in linear_result.h.
/* diecast
use      <diecast/device/linear/linear_result.h>
tune     int   M_TILE {8, 32} = 8                        // rows of x that a thread block takes
launch   grid(ceil_div(GATED ? 2 * cols : cols, 64) * ceil_div(rows, M_TILE)) block(128) resident(M_TILE == 8 ? 8 : 4)
exchange none
*/
#include <diecast/device/linear/weight_fragments.h>

using Tile = PackedTile<FORMAT>;
using Sums = f32[M_TILE / 8][4];

// What a thread multiplies: the strip's tiles, and x from the block's first row on.
struct Operands {
  const u8* tiles;
  const IN* x;
  i64 stride, rows, depth;
};

#if DIECAST_HOST

// The sum of a step's products.
DIECAST_DEVICE f32 step_sum(const f32 (&weights)[16], const IN* x) {
  f32 sum = 0.0f;
  for (int k = 0; k < 16; ++k) sum += weights[k] * to_f32(x[k]);
  return sum;
}

DIECAST_DEVICE void add_tile(Sums& sums, const Operands& of, i64 tile) {
  const u8* from = of.tiles + tile * Tile::kBytes;
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16 + lane / 4;
  for (int k = 0; k < Tile::kSide && tile * Tile::kSide + k < of.depth; k += 16) {
    for (int half = 0; half < 2; ++half) {
      f32 weights[16];
      for (int i = 0; i < 16; ++i) weights[i] = weight_at<FORMAT>(from, first + 8 * half, k + i);
      for (int i = 0; i < M_TILE / 4; ++i) {
        const int row = i / 2 * 8 + lane % 4 * 2 + i % 2;
        if (row >= of.rows) continue;
        sums[i / 2][2 * half + i % 2] += step_sum(weights, of.x + row * of.stride + tile * Tile::kSide + k);
      }
    }
  }
}

#else

DIECAST_DEVICE void add_tile(Sums& sums, const Operands& of, i64 tile) {
  using Fragments = WeightFragments<IN, FORMAT>;
  const u32 thread = threadIdx.x, lane = thread % 32;
  const u8* from = of.tiles + tile * Tile::kBytes;
  const Fragments weights = {
      load_streaming<16>(from + thread * 16),
      load_streaming<Fragments::kScaleBytes>(from + Tile::kCodeBytes + thread / 4 * Fragments::kScaleBytes)};
  DIECAST_UNROLL
  for (int step = 0; step < 4; ++step) {
    const i64 k = tile * Tile::kSide + step * 16;
    if (k >= of.depth) break;
    u32 a[4];
    weights.step(step, a);
    DIECAST_UNROLL
    for (int i = 0; i < M_TILE / 8; ++i) {
      const i64 row = i * 8 + lane / 4;
      const IN* pair = of.x + row * of.stride + k + lane % 4 * 2;
      const bool there = row < of.rows;
      add_products<IN>(sums[i], a, there ? load<4>(pair).words[0] : 0, there ? load<4>(pair + 8).words[0] : 0);
    }
  }
}

#endif

DIECAST_KERNEL {
  const i64 weight_rows = GATED ? 2 * cols : cols, tiles = ceil_div(depth, Tile::kSide), part = ceil_div(tiles, SPLIT);
  const u32 row_tiles = gridDim.x / static_cast<u32>(ceil_div(weight_rows, Tile::kSide));
  const i64 strip = blockIdx.x / row_tiles, first = i64{blockIdx.x % row_tiles} * M_TILE;
  if (first >= rows) return;
  const Operands of = {packed + strip * tiles * Tile::kBytes, x + first * x_stride, x_stride, rows - first, depth};
  Sums total;
  DIECAST_NO_UNROLL
  for (int nth = 0; nth < SPLIT; ++nth) {
    Sums sums = {};
    DIECAST_NO_UNROLL
    for (i64 tile = nth * part; tile < min((nth + 1) * part, tiles); ++tile) add_tile(sums, of, tile);
    DIECAST_UNROLL
    for (int i = 0; i < M_TILE / 2; ++i)
      total[i / 4][i % 4] = nth == 0 ? sums[i / 4][i % 4] : total[i / 4][i % 4] + sums[i / 4][i % 4];
  }
  const auto factor_at = [&](int i) DIECAST_INLINED { return ROW_FACTORS ? Tile::kFactor : factor[i] * Tile::kFactor; };
  const LinearResult<ACTIVATION, HAS_BIAS, HAS_RESIDUAL, IN, OUT, ROW_FACTORS> result = {
      bias, residual, out, rows, cols, factor_at(0), ALPHA, LIMIT, factor, factor_at(UP_FACTOR)};
  const i64 weight_row = strip * Tile::kSide + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  DIECAST_UNROLL
  for (int i = 0; i < M_TILE / 4; ++i) {
    const i64 row = first + i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2;
    result.store(row, weight_row, total[i / 2][i % 2], total[i / 2][2 + i % 2]);
  }
}
