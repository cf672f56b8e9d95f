// mx_partial_cast: shards of many weights to MXFP8 in both directions, under the maxima of their blocks.
// An element's byte stands at its flat index in either direction's data; only the shard's change.
/* diecast
option   type  IN      {f32, bf16}                       // element type of the master values
option   type  MODEL   {bf16, f16, f32} = bf16           // what they are rounded to before all else
option   enum  FORMAT  {mxfp8_e4m3, mxfp8_e5m2} = mxfp8_e4m3
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 32} = 8                    // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all shards: 32 rows by 1024 columns each
size     blocks                                          // of all weights, both directions
arg      maxima  inout f32  [blocks]
arg      edges   out   u8   [count]                      // of no use here: the form of partial_cast
arg      count
arg      units
arg      blocks
require  THREADS % 32 == 0                               // whole warps
require  IN == f32 || MODEL == bf16                      // bf16 values stay what they are
launch   grid(min(ceil_div(units * 32, THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
*/
#include <diecast/device/groups/mx_weights.h>
#include <diecast/device/mx/mx.h>
#include <diecast/device/numbers/convert.h>

using Format = Mx<FORMAT, MODE_rceil, false>;

DIECAST_DEVICE f32 factor_of(const f32* amax) { return reciprocal_of_e8m0(Format::scale(__float_as_uint(*amax))); }

// A lane takes a column of a 32x32 square.
DIECAST_KERNEL {
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
  u32 unit = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  DIECAST_NO_UNROLL
  for (; unit < units; unit += warps) {
    const MxUnit at(all, static_cast<u32>(count), unit);
    const ShardMatrix<IN> shard(*at.weight);
    const MxMaxima from(*at.weight, maxima);
    u8* to_rowwise = reinterpret_cast<u8*>(at.weight->rowwise.data);
    u8* to_columnwise = reinterpret_cast<u8*>(at.weight->columnwise.data);
    DIECAST_NO_UNROLL
    for (i64 col = at.col + lane; col < at.col_end; col += 32) {
      const f32 of_column = factor_of(from.of_column(at.row, col));
      DIECAST_NO_UNROLL
      for (i64 row = at.row; row < at.row + 32; ++row) {
        if (!shard.has(row, col)) continue;
        const i64 place = row * shard.cols + col;
        const f32 x = to_f32(from_f32<MODEL>(to_f32(shard.values[place])));
        const f32 of_row = factor_of(from.of_row(row, col));
        to_rowwise[place] = static_cast<u8>(Format::byte(__fmul_rn(x, of_row)));
        to_columnwise[place] = static_cast<u8>(Format::byte(__fmul_rn(x, of_column)));
      }
    }
  }
}
