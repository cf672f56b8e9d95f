// partial_cast: shards of many weights to E2M1 codes under decode scales of 16x16 tiles. A code is
// the half byte of its flat index, so a shard may begin and end inside a byte: only halves that belong
// to it change. The code of a shard that begins in a high half also goes to edges, for the rank
// that holds the rest of the byte.
/* diecast
option   type  IN      {f32, bf16}                       // element type of the master values
option   type  MODEL   {bf16, f16, f32} = bf16           // what they are rounded to before all else
tune     int   THREADS {256, 512} = 256
tune     int   waves   {1, 8, 32} = 32                   // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all shards: 16 rows by 1024 columns each
size     tiles                                           // of all weights
arg      decode  in    f32  [tiles]
arg      edges   out   u8   [count]                      // written where a shard begins in a high half
arg      count
arg      units
arg      tiles
require  THREADS % 32 == 0                               // whole warps
require  IN == f32 || MODEL == bf16                      // bf16 values stay what they are
launch   grid(min(ceil_div(units * 32, THREADS), sm_count * waves)) block(THREADS) resident(MODEL == f32 && !host && cc >= 100 ? 1 : 0)
exchange none                                            // threads never wait for one another
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/e2m1_codes.h>
#include <diecast/device/numbers/eight.h>
#include <diecast/device/nvfp4/nvfp4.h>

// A lane takes eight elements of a row, so that a warp's codes are a whole line of memory.
constexpr int kPiece = 8;
using Shard = ShardMatrix<IN, kPiece>;

// What elements of a tile are multiplied by.
DIECAST_DEVICE f32 encode_factor(f32 decode_scale) { return fminf(__frcp_rn(decode_scale), kLargest); }

DIECAST_DEVICE f32 in_model_type(f32 x) {
  if constexpr (bits<IN>() == 16) return x;
  return to_f32(from_f32<MODEL>(x));
}

// The codes of a whole piece, the first in the low half of the first byte.
DIECAST_DEVICE u32 codes_of_piece(const Eight<IN>& piece, f32 factor) {
  f32 y[kPiece];
  DIECAST_UNROLL
  for (int i = 0; i < kPiece; ++i) {
    y[i] = __fmul_rn(in_model_type(piece.element(i)), factor);
  }
  return e2m1_codes(y);
}

// One shard and where its codes go.
struct Cast {
  Shard shard;
  u8* codes;  // the byte of code 0
  i64 row_codes;
  i64 first, end;  // the half bytes that belong to the shard
  const f32* decode;
  i64 tile_cols;
  bool aligned;  // the codes of every piece are whole bytes at a multiple of their size
  u8* edge;

  DIECAST_DEVICE Cast(const Weight& w, const f32* all_decode, u8* edge_of_weight)
      : shard(w),
        codes(reinterpret_cast<u8*>(w.rowwise.data)),
        row_codes(w.row_codes),
        first(w.first_code),
        end(w.end_code),
        decode(all_decode + w.first_tile),
        tile_cols(w.tile_cols()),
        aligned(w.rowwise.data % (kPiece / 2) == 0 && w.row_codes % kPiece == 0),
        edge(edge_of_weight) {}

  DIECAST_DEVICE f32 factor(i64 row, i64 col) const { return encode_factor(decode[row / 16 * tile_cols + col / 16]); }
  // 0 in the padding behind a row.
  DIECAST_DEVICE u32 code(i64 row, i64 col) const {
    if (col >= shard.cols) return 0;
    const f32 x = in_model_type(to_f32(shard.values[row * shard.cols + col]));
    return e2m1_from_f32_plain(__fmul_rn(x, factor(row, col)));
  }
  // The byte whose low half is this code; a high half that is the shard's first has no such code.
  DIECAST_DEVICE void put(i64 row, i64 col) const {
    const i64 at = row * row_codes + col;
    const bool high = at % 2 != 0;
    if (at < first || at >= end || (high && at != first)) return;
    u8* to = codes + (at >> 1);
    const u32 own = code(row, col);
    u32 other;
    if (high || at + 1 == end) {
      other = *to & (high ? 0x0Fu : 0xF0u);
    } else {
      const bool next_row = col + 1 == row_codes;
      other = code(row + next_row, next_row ? 0 : col + 1) << 4;
    }
    *to = static_cast<u8>(own << (high ? 4 : 0) | other);
    if (high) *edge = static_cast<u8>(own);
  }
};

// Whether 16 rows of pieces can be read, cast and stored with one access each.
DIECAST_DEVICE bool is_whole(const Cast& cast, i64 row, i64 col) { return cast.aligned && cast.shard.has_pieces(row, col, 16); }

DIECAST_DEVICE void cast_whole(const Cast& cast, i64 row, i64 col) {
  const f32 factor = cast.factor(row, col);
  const IN* from = cast.shard.values + row * cast.shard.cols + col;
  u8* to = cast.codes + (row * cast.row_codes + col) / 2;
  DIECAST_NO_UNROLL
  for (int r = 0; r < 16; r += 4) {
    Eight<IN> pieces[4];
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) pieces[i].load<true>(from + (r + i) * cast.shard.cols, kPiece);
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      u8* at = to + (r + i) * (cast.row_codes / 2);
      *reinterpret_cast<u32*>(at) = codes_of_piece(pieces[i], factor);
    }
  }
}

// Code after code.
DIECAST_DEVICE void cast_part(const Cast& cast, i64 row, i64 col) {
  DIECAST_NO_UNROLL
  for (int i = 0; i < 16 * kPiece; ++i) {
    if (col + i % kPiece < cast.row_codes) cast.put(row + i / kPiece, col + i % kPiece);
  }
}

DIECAST_KERNEL {
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const u32 warps = gridDim.x * (THREADS / 32);
  u32 unit = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  DIECAST_NO_UNROLL
  for (; unit < units; unit += warps) {
    const u32 index = weight_of_unit(all, static_cast<u32>(count), kShardUnits, unit);
    const ShardUnit at(all[index], unit);
    const Cast cast(all[index], decode, edges + index);
    const i64 end = min(at.col + kShardUnitCols, cast.row_codes);
    DIECAST_NO_UNROLL
    for (i64 col = at.col + threadIdx.x % 32 * kPiece; col < end; col += 32 * kPiece) {
      if (is_whole(cast, at.row, col)) {
        cast_whole(cast, at.row, col);
      } else {
        cast_part(cast, at.row, col);
      }
    }
  }
}
