// partial_amax: the largest magnitudes of 16x16 tiles in shards of many weights, and of each weight.
// Values count as the weights' own type has them after rounding. NaN is ignored, infinity is kept; a tile of
// these rows without an element of the shard gets 0. Tiles of other rows are not written, and maxima
// of many warps meet in amaxes: the caller fills those with zeros first.
/* diecast
option   type  IN      {f32, bf16}                       // element type of the master values
option   type  MODEL   {bf16, f16, f32} = bf16           // what they are rounded to before all else
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 32} = 8                    // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all shards: 16 rows by 1024 columns each
size     tiles                                           // of all weights
arg      amaxes  inout f32  [count]
arg      maxima  inout f32  [tiles]
arg      count
arg      units
arg      tiles
require  THREADS % 32 == 0                               // whole warps
require  IN == f32 || MODEL == bf16                      // bf16 values stay what they are
launch   grid(min(ceil_div(units * 32, THREADS), sm_count * waves)) block(THREADS)
exchange warp                                            // lanes of a tile exchange their maxima
*/
#include <diecast/device/blocks/block16_data.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/threads/reduce.h>

using Shard = ShardMatrix<IN>;
constexpr int kPiece = Shard::kPiece;

DIECAST_DEVICE f32 amax_of_piece(const Vector<16>& piece) {
  f32 found = 0.0f;
  DIECAST_UNROLL
  for (int i = 0; i < kPiece; ++i) found = fmaxf(found, fabsf(element_of<IN>(piece.words, i)));
  return found;
}

// The piece of each of 16 rows, where not all of them are whole.
DIECAST_DEVICE_CALL f32 amax_of_part(const Shard& shard, i64 row, i64 col) {
  f32 found = 0.0f;
  DIECAST_NO_UNROLL
  for (int r = 0; r < 16; ++r) {
    const IN* from = shard.values + (row + r) * shard.cols + col;
    if (shard.has_pieces(row + r, col, 1)) {
      found = fmaxf(found, amax_of_piece(load_streaming<16>(from)));
      continue;
    }
    DIECAST_NO_UNROLL
    for (int i = 0; i < kPiece; ++i) {
      if (shard.has(row + r, col + i)) found = fmaxf(found, fabsf(to_f32(from[i])));
    }
  }
  return found;
}

DIECAST_DEVICE f32 amax_of_rows(const Shard& shard, i64 row, i64 col) {
  if (!shard.has_pieces(row, col, 16)) return amax_of_part(shard, row, col);
  const IN* from = shard.values + row * shard.cols + col;
  f32 found = 0.0f;
  DIECAST_NO_UNROLL
  for (int r = 0; r < 16; r += 8) {
    Vector<16> pieces[8];
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) pieces[i] = load_streaming<16>(from + (r + i) * shard.cols);
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) found = fmaxf(found, amax_of_piece(pieces[i]));
  }
  return found;
}

DIECAST_KERNEL {
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
  u32 unit = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  DIECAST_NO_UNROLL
  for (; unit < units; unit += warps) {
    const u32 index = weight_of_unit(all, static_cast<u32>(count), kShardUnits, unit);
    const Weight& weight = all[index];
    const ShardUnit at(weight, unit);
    const Shard shard(weight);
    f32* of_row = maxima + weight.first_tile + at.row / 16 * weight.tile_cols();
    f32 largest = 0.0f;
    DIECAST_NO_UNROLL
    for (i64 first = at.col; first < min(at.col + kShardUnitCols, shard.cols); first += 32 * kPiece) {
      const i64 col = first + lane * kPiece;
      f32 found = col < shard.cols ? amax_of_rows(shard, at.row, col) : 0.0f;
      DIECAST_UNROLL
      for (int distance = 8 / kPiece; distance > 0; distance /= 2) {
        found = fmaxf(found, __shfl_xor_sync(0xFFFFFFFFu, found, distance));
      }
      found = to_f32(from_f32<MODEL>(found));  // rounding keeps the order: once is enough
      if (lane % (16 / kPiece) == 0 && col < shard.cols) of_row[col / 16] = found;
      largest = fmaxf(largest, found);
    }
    largest = warp_reduce_max(largest);
    if (lane == 0) atomicMax(reinterpret_cast<u32*>(amaxes + index), __float_as_uint(largest));
  }
}
