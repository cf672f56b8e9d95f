// describe_group: where the members of a group lie in its common buffers, from row offsets in device
// memory, and how many of a member's rows are real, from counts there: one descriptor each, as the
// library's QuantizedGroup::describe makes them on the host.
// Members lie one behind another, each with scales of its own, padded as the layout wants.
/* diecast
option   int   BLOCK     {16, 32} = 16                   // neighbours that share one scale
option   bool  FOUR_BIT  = true                          // two codes a byte
option   bool  ROW_SCALE = false                         // an amax a row, and a column of each member
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
tune     int   THREADS   {128} = 128
size     count                                           // members
arg      offsets          in  i64  [count + 1]           // start at 0 and never descend
arg      members          out u8   [count, 96]  align 16
arg      counts           i64                            // address of i32 [count], the real rows of each; 0: all are
arg      cols             i64
arg      matrix           i64                            // addresses, 0 where there is nothing
arg      stride           i64                            // elements of the matrix from one row to the next
arg      element_bytes    i64
arg      rowwise_data     i64
arg      rowwise_scale    i64
arg      rowwise_amax     i64
arg      columnwise_data  i64
arg      columnwise_scale i64
arg      columnwise_amax  i64
arg      rowwise_stride    i64                           // bytes from one row of linear scales to the next; 0: dense
arg      columnwise_stride i64
arg      count
require  FOUR_BIT || BLOCK == 32                         // formats of a byte an element have blocks of 32
require  BLOCK == 16 || !ROW_SCALE                       // formats with blocks of 32 have no amax
launch   grid(ceil_div(count, THREADS)) block(THREADS)
exchange warp                                            // a warp adds up what lies before its members
sample   count {0, 1, 7, 130}
*/
#include <diecast/device/groups/group.h>
#include <diecast/device/threads/prefix_sum.h>

using Layout = ScaleLayout<LAYOUT>;

DIECAST_DEVICE MemberSide side_at(i64 data, i64 scale, i64 amax, i64 data_begin, i64 scale_begin, i64 amax_begin,
                                  i64 scale_stride) {
  return {data == 0 ? 0 : static_cast<u64>(data + data_begin), scale == 0 ? 0 : static_cast<u64>(scale + scale_begin),
          amax == 0 ? 0 : static_cast<u64>(amax + amax_begin * 4), LINEAR && (data != 0 || scale != 0) ? scale_stride : 0};
}

// Rows, each member's padded to what a buffer counts in.
struct Padded {
  i64 scale_rows, data_cols, scale_cols;

  DIECAST_DEVICE void add(i64 rows) {
    scale_rows += Layout::padded_rows(rows);
    data_cols += FOUR_BIT ? align_up(rows, BLOCK) : rows;
    scale_cols += align_up(rows, i64{BLOCK} * Layout::kTileCols);
  }
};

// A lane's sum of all that the lanes have `before`, and of what those below it have `own`.
DIECAST_DEVICE i64 sum_before(i64 before, i64 own) { return sum_of_lanes(warp_prefix_sum(before)) + warp_prefix_sum(own) - own; }

// One thread a member. A warp's lanes share in the members before its first.
DIECAST_KERNEL {
  const i64 index = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32;
  Padded before = {}, own = {};
  DIECAST_NO_UNROLL
  for (i64 i = lane; i < index - lane && i < count; i += 32) before.add(offsets[i + 1] - offsets[i]);
  if (index < count) own.add(offsets[index + 1] - offsets[index]);
  const i64 scale_rows = sum_before(before.scale_rows, own.scale_rows);
  const i64 data_cols = sum_before(before.data_cols, own.data_cols);
  const i64 scale_cols = sum_before(before.scale_cols, own.scale_cols);
  if (index >= count) return;
  const i64 first = offsets[index], blocks = ceil_div(cols, BLOCK);
  i64 rows = offsets[index + 1] - first;
  if (counts != 0) rows = max(i64{0}, min(rows, i64{reinterpret_cast<const i32*>(counts)[index]}));
  constexpr int kCodesAByte = FOUR_BIT ? 2 : 1;
  const bool has_amax = BLOCK == 16;
  Member& member = reinterpret_cast<Member*>(members)[index];
  member.matrix = matrix == 0 ? 0 : static_cast<u64>(matrix + first * stride * element_bytes);
  member.row_begin = first;
  member.rows = rows;
  member.stride = matrix == 0 ? 0 : stride;
  member.rowwise =
      side_at(rowwise_data, rowwise_scale, rowwise_amax, first * ((FOUR_BIT ? align_up(cols, BLOCK) : cols) / kCodesAByte),
              rowwise_stride == 0 ? scale_rows * Layout::padded_cols(blocks) : first * rowwise_stride,
              has_amax ? (ROW_SCALE ? first : index) : 0, rowwise_stride == 0 ? blocks : rowwise_stride);
  member.columnwise = side_at(columnwise_data, columnwise_scale, columnwise_amax, cols * (data_cols / kCodesAByte),
                              columnwise_stride == 0 ? Layout::padded_rows(cols) * (scale_cols / BLOCK)
                                                     : (FOUR_BIT ? index * cols : scale_cols / BLOCK) * columnwise_stride,
                              has_amax ? (ROW_SCALE ? index * cols : index) : 0,
                              columnwise_stride != 0 ? columnwise_stride
                              : FOUR_BIT             ? ceil_div(rows, BLOCK)
                                                     : cols);
}
