// mx_partial_amax: the largest magnitudes of MXFP8 blocks in shards of many weights, 32 neighbours of
// a row and 32 of a column. Values count as the weights' own type has them after
// rounding. NaN is ignored, infinity is kept; a block of these rows without an element of the shard
// gets 0. Blocks of other rows are not written: the caller fills with zeros first.
/* diecast
option   type  IN      {f32, bf16}                       // element type of the master values
option   type  MODEL   {bf16, f16, f32} = bf16           // what they are rounded to before all else
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 32} = 8                    // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all shards: 32 rows by 1024 columns each
size     blocks                                          // of all weights, both directions
arg      amaxes  in    f32  [count]                      // of no use here: the form of partial_amax
arg      maxima  inout f32  [blocks]
arg      count
arg      units
arg      blocks
require  THREADS % 32 == 0                               // whole warps
require  IN == f32 || MODEL == bf16                      // bf16 values stay what they are
launch   grid(min(ceil_div(units * 32, THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
*/
#include <diecast/device/groups/mx_weights.h>
#include <diecast/device/numbers/convert.h>

DIECAST_DEVICE f32 rounded(f32 amax) { return to_f32(from_f32<MODEL>(amax)); }

// A lane takes a column of the 32x32 square, then a row, which the first-level cache has by then.
DIECAST_KERNEL {
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
  u32 unit = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  DIECAST_NO_UNROLL
  for (; unit < units; unit += warps) {
    const MxUnit at(all, static_cast<u32>(count), unit);
    const ShardMatrix<IN> shard(*at.weight);
    const MxMaxima to(*at.weight, maxima);
    DIECAST_NO_UNROLL
    for (i64 first = at.col; first < at.col_end; first += 32) {
      f32 of_column = 0.0f, of_row = 0.0f;
      DIECAST_NO_UNROLL
      for (int i = 0; i < 32; ++i) {
        const i64 place = (at.row + i) * shard.cols + first + lane;
        if (shard.has(at.row + i, first + lane)) {
          of_column = fmaxf(of_column, fabsf(to_f32(shard.values[place])));
        }
      }
      DIECAST_NO_UNROLL
      for (int i = 0; i < 32; ++i) {
        const i64 place = (at.row + lane) * shard.cols + first + i;
        if (shard.has(at.row + lane, first + i)) {
          of_row = fmaxf(of_row, fabsf(to_f32(shard.values[place])));
        }
      }
      if (first + lane < shard.cols) *to.of_column(at.row, first + lane) = rounded(of_column);
      if (at.row + lane < shard.rows) *to.of_row(at.row + lane, first) = rounded(of_row);
    }
  }
}
