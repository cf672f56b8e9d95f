// The sums of a thread block of 128 threads: a strip of 64 rows of packed weights times `Rows` rows of x. The order: each
// part of the depth is a chain of steps of 16, ascending, in f32 from zero on; a tensor core adds a step as it does. On the
// host a step's products, exact, are added in order to a sum of their own, which is then added to the chain; one rounding an
// addition. The parts, of ceil(ceil(depth / 64) / Split) tiles of 64, are added in order.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/weight_fragments.h>

namespace diecast {

// Which rows of x a thread has to do with, of `Rows`: 8, 16, 24 or 32.
template <int Rows>
struct StripRows {
  static constexpr int kSums = Rows / 4;  // of which it has sums
  // Which it loads: on the host those of its sums.
  static constexpr int kLoaded = DIECAST_HOST ? kSums : Rows / 8;

  // The row of its i-th sums, and the i-th row that it loads.
  DIECAST_DEVICE static i64 of_sums(int i) { return i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2; }
  DIECAST_DEVICE static i64 loaded(int i) { return DIECAST_HOST ? of_sums(i) : i * 8 + threadIdx.x % 32 / 4; }
};

// A thread's sums: of row of_sums(i) of x and the rows row_of(thread) and 8 more of the strip, [i / 2][i % 2] and [i / 2][2 + i % 2].
template <int Rows>
using SumsOfStrip = f32[Rows / 8][4];

// What is multiplied: the strip's tiles, and x: x.has(i) says whether the i-th row that a thread loads is there, x.row(i)
// where it begins.
template <class OfX>
struct StripOperands {
  const u8* tiles;
  OfX x;
  i64 depth;
};

#if DIECAST_HOST

// The sum of a step's products.
template <class X>
DIECAST_DEVICE f32 step_sum(const f32 (&weights)[16], const X* x) {
  f32 sum = 0.0f;
  for (int k = 0; k < 16; ++k) sum += weights[k] * to_f32(x[k]);
  return sum;
}

template <class X, int Format, int Rows, class OfX>
DIECAST_DEVICE void add_tile(SumsOfStrip<Rows>& sums, const StripOperands<OfX>& of, i64 tile) {
  using Tile = PackedTile<Format>;
  const u8* from = of.tiles + tile * Tile::kBytes;
  for (int k = 0; k < Tile::kSide && tile * Tile::kSide + k < of.depth; k += 16) {
    for (int half = 0; half < 2; ++half) {
      f32 weights[16];
      for (int i = 0; i < 16; ++i) weights[i] = weight_at<Format>(from, Tile::row_of(threadIdx.x) + 8 * half, k + i);
      for (int i = 0; i < StripRows<Rows>::kSums; ++i)
        if (of.x.has(i)) sums[i / 2][2 * half + i % 2] += step_sum(weights, of.x.row(i) + tile * Tile::kSide + k);
    }
  }
}

#else

template <class X, int Format, int Rows, class OfX>
DIECAST_DEVICE void add_tile(SumsOfStrip<Rows>& sums, const StripOperands<OfX>& of, i64 tile) {
  using Tile = PackedTile<Format>;
  using Fragments = WeightFragments<X, Format>;
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
    for (int i = 0; i < Rows / 8; ++i) {
      const X* pair = of.x.row(i) + k + lane % 4 * 2;
      const bool there = of.x.has(i);
      add_products<X>(sums[i], a, there ? load<4>(pair).words[0] : 0, there ? load<4>(pair + 8).words[0] : 0);
    }
  }
}

#endif

template <int Split, class X, int Format, int Rows, class OfX>
DIECAST_DEVICE void sum_strip(SumsOfStrip<Rows>& total, const StripOperands<OfX>& of) {
  const i64 tiles = ceil_div(of.depth, i64{PackedTile<Format>::kSide}), part = ceil_div(tiles, i64{Split});
  DIECAST_NO_UNROLL
  for (int nth = 0; nth < Split; ++nth) {
    SumsOfStrip<Rows> sums = {};
    DIECAST_NO_UNROLL
    for (i64 tile = nth * part; tile < min((nth + 1) * part, tiles); ++tile) add_tile<X, Format, Rows>(sums, of, tile);
    DIECAST_UNROLL
    for (int i = 0; i < Rows / 2; ++i)
      total[i / 4][i % 4] = nth == 0 ? sums[i / 4][i % 4] : total[i / 4][i % 4] + sums[i / 4][i % 4];
  }
}

}  // namespace diecast
