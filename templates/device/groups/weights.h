// Sharded weights, many in one launch: what a kernel reads of each of them, and how warps share the
// work. A warp's unit is a stretch of columns of 16 rows (a row of 16x16 tiles); the units of all
// weights are numbered through, and each kind of kernel counts its own.
/* diecast
size   count                                  // weights
arg    weights in u8 [count, 208]  align 16   // struct Weight
sample count {0, 1, 5, 40}
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

struct WeightSide {
  u64 data, scale, amax;  // addresses; 0 where the direction is absent
  i64 scale_stride;       // 0: a weight's scales are dense
};

// The library has the same as WeightDescriptor in ops/weights/descriptor.h; a test compares them.
struct Weight {
  u64 shard;      // the master values: of elements `begin` up to `end`, one behind another
  i64 row_begin;  // of the row of tiles in which the shard begins
  i64 rows;
  i64 reserved;
  WeightSide rowwise, columnwise;  // data: the byte of code 0, although a fragment may begin later
  i64 cols;
  i64 begin, end;              // the shard, as flat indices of elements
  i64 row_codes;               // codes from one row to the next: cols, or cols and the padding of a row
  i64 first_code, end_code;    // the shard's codes, as flat indices with the padding
  i64 first_tile;              // of its tiles in the array of all weights' tiles
  i64 column_codes;            // row_codes of the transposed matrix
  i64 scale_rows, scale_cols;  // of the scale matrix, padding included
  i64 column_scale_rows, column_scale_cols;
  u32 unit_begin[4];  // by UnitKind: its first unit

  DIECAST_DEVICE i64 tile_rows() const { return ceil_div(rows, 16); }
  DIECAST_DEVICE i64 tile_cols() const { return ceil_div(cols, 16); }
};
static_assert(sizeof(Weight) == 208, "as the library writes it");

enum UnitKind { kShardUnits, kScaleUnits, kTransposeUnits, kScaleTransposeUnits };

// 16 rows of the shard by this many columns.
constexpr i64 kShardUnitCols = 1024;
// 16 rows of a scale matrix, or of the transposed one, by this many columns.
constexpr i64 kScaleUnitCols = 512;
// Rows and columns of codes that a thread block transposes at once.
constexpr i64 kTransposeUnit = 256;

// The weight that a unit is of: the last that begins at or before it, because a weight without
// units begins where the next one does.
DIECAST_DEVICE_CALL u32 weight_of_unit(const Weight* weights, u32 count, int kind, u32 unit) {
  u32 low = 0, high = count;
  DIECAST_NO_UNROLL
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (weights[middle].unit_begin[kind] <= unit) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Where a unit of the shard lies. Units stand row after row of tiles, from the shard's first one.
struct ShardUnit {
  i64 row, col;  // of its first element

  DIECAST_DEVICE ShardUnit(const Weight& weight, u32 unit) {
    const u32 within = unit - weight.unit_begin[kShardUnits];
    const u32 in_row = static_cast<u32>(ceil_div(weight.row_codes, kShardUnitCols));
    const u32 tile_row = within / in_row;
    row = weight.row_begin + i64{tile_row} * 16;
    col = i64{within - tile_row * in_row} * kShardUnitCols;
  }
};

// The shard's values as a matrix of which only elements `begin` up to `end` are there. A lane takes
// a piece: so many neighbours of a row.
template <class IN, int Piece = 128 / bits<IN>()>
struct ShardMatrix {
  static constexpr int kPiece = Piece;
  const IN* values;  // of element 0, were it there
  i64 rows, cols, begin, end;
  bool aligned;  // every piece of a row is at a multiple of 16 bytes

  DIECAST_DEVICE explicit ShardMatrix(const Weight& w) : rows(w.rows), cols(w.cols), begin(w.begin), end(w.end) {
    const u64 address = w.shard - static_cast<u64>(w.begin) * sizeof(IN);
    values = reinterpret_cast<const IN*>(address);
    aligned = address % 16 == 0 && w.cols * bits<IN>() % 128 == 0;
  }
  DIECAST_DEVICE bool has(i64 row, i64 col) const {
    const i64 at = row * cols + col;
    return row < rows && col < cols && at >= begin && at < end;
  }
  // Whether the pieces of `count` rows at this column can be read with one load each.
  DIECAST_DEVICE bool has_pieces(i64 row, i64 col, int count) const {
    // Rows are whole loads of 16 bytes, so a piece of one that begins in a row is in it.
    const i64 needed = kPiece * bits<IN>() > 128 ? kPiece : 1;
    return aligned && col + needed <= cols && row + count <= rows && row * cols + col >= begin &&
           (row + count - 1) * cols + col + kPiece <= end;
  }
};

}  // namespace diecast
