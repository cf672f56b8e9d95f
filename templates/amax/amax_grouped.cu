// amax_grouped: largest absolute values of many matrices with equal columns in one launch, of the
// whole, of each row or of each column. GROUP_members: those of each member of a group, whose
// descriptors are in device memory and say where they go. GROUP_list: one result for all of up to 16
// matrices that the launch names, as several that share a global scale want it. The rules are amax's;
// but for rows the caller fills the results with zeros.
// ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {apart, any} = apart              // what is known of the rows, see above
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
option   enum  GROUP   {members, list} = members         // see above
option   enum  PER     {tensor, row, column} = tensor    // what a maximum is of
use      <diecast/device/blocks/amax.h>                  // NANS, RHT, SIGN_MASK
tune     int   THREADS {32, 256} = 256
tune     int   waves   {1, 8, 32} = 8                    // the most thread blocks a multiprocessor gets
size     rows                                            // of all matrices, or more
size     cols  = COLS  divisible (ROWS == any ? 1 : 16)
size     count                                           // matrices
arg      members in    u8   [GROUP == members ? count : 0, 96]  align 16
arg      list    struct MemberList 1536
arg      amax    inout f32  [GROUP == members ? 0 : 1, PER == column ? cols : 1]  // the list's
arg      sides   i32                                     // members' whole maxima: 1 rowwise, 2 columnwise, 3 both
arg      rows
arg      cols
arg      count
require  THREADS % 32 == 0                               // whole warps
require  PER != row || GROUP == members                  // a list has one maximum of all its matrices
require  RHT != columnwise || PER != row                 // blocks along a column have no row of their own
launch   grid(min((ceil_div(rows, PER == row ? THREADS / 32 : 16) + count) * (PER == row ? 1 : ceil_div(cols, 256)),
                  sm_count * waves)) block(THREADS)
exchange warp                                            // a warp reduces what it has read
sample   COLS {0, 80}  rows {0, 1, 7, 130}  cols {1, 17, 80, 600}  count {0}
*/
#include <diecast/device/groups/group.h>

using Amax = AmaxOf<IN, ROWS == ROWS_apart, RHT, SIGN_MASK, NANS == NANS_propagate>;

// A thread block takes 16 rows of 256 columns, block after block of a row, or 64 rows of columns;
// for a maximum a row, each of its warps takes one.
constexpr int kRows = PER == PER_row ? THREADS / 32 : DOWN ? 64 : 16, kCols = 256;

DIECAST_DEVICE const IN* row_of(const Member& m, i64 row) { return reinterpret_cast<const IN*>(m.matrix) + row * m.stride; }

// What one thread finds in the piece of a matrix that begins at `row`, `col`.
DIECAST_DEVICE f32 amax_of_piece(const Member& m, i64 row, i64 col, i64 last_col, f32* of_column) {
  const IN* from = row_of(m, row) + col;
  f32 found = 0.0f;
  DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < kCols; i += THREADS) {
    const int down = DOWN ? 0 : i / 16, across = DOWN ? i : i % 16 * 16;
    if (row + down >= m.rows || col + across >= last_col) continue;
    f32 here;
    if constexpr (DOWN) {
      const i64 left = m.rows - row;
      here = Amax::down(from + across, m.stride, left < kRows ? left : kRows);
      if constexpr (PER == PER_column) Amax::meet(of_column + col + across, here);
    } else {
      here = Amax::block(from + down * m.stride + across, last_col - col - across);
    }
    found = Amax::larger(found, here);
  }
  return found;
}

// A warp's row: nobody else looks at it.
DIECAST_DEVICE void amax_of_row(const Member& m, i64 row, i64 cols) {
  if (row >= m.rows) return;
  const IN* from = row_of(m, row);
  f32 found = 0.0f;
  DIECAST_NO_UNROLL
  for (i64 col = threadIdx.x % 32 * 16; col < cols; col += 512) {
    found = Amax::larger(found, Amax::block(from + col, cols - col));
  }
  found = warp_reduce_max(found);
  if (threadIdx.x % 32 == 0) reinterpret_cast<f32*>(m.rowwise.amax)[row] = found;
}

// What the lanes of a warp have found in a member, or in all of a list. A call: written out it costs
// a fifth of the compile.
DIECAST_DEVICE_CALL void meet_all(const Member& m, f32* of_list, i32 sides, f32 found) {
  found = warp_reduce_max(found);
  if (threadIdx.x % 32 != 0) return;
  if constexpr (GROUP == GROUP_list) {
    Amax::meet(of_list, found);
  } else {
    if ((sides & 1) != 0) Amax::meet(reinterpret_cast<f32*>(m.rowwise.amax), found);
    if ((sides & 2) != 0) Amax::meet(reinterpret_cast<f32*>(m.columnwise.amax), found);
  }
}

DIECAST_KERNEL {
  const Member* all = GROUP == GROUP_members ? reinterpret_cast<const Member*>(members) : list.members;
  GroupWalk<true> at{all, count, 0, blockIdx.x, gridDim.x};
  const u32 pieces = PER == PER_row ? 1 : static_cast<u32>(ceil_div(cols, kCols));
  f32 found = 0.0f;
  i64 member = -1;  // whose that is, or the last one whose it is
  DIECAST_NO_UNROLL
  for (; at.find<kRows>(pieces); at.next()) {
    const Member& m = all[at.place.member];
    const i64 row = i64{at.row} * kRows;
    if constexpr (PER == PER_row) {
      amax_of_row(m, row + threadIdx.x / 32, cols);
    } else {
      if (PER == PER_tensor && GROUP == GROUP_members && i64{at.place.member} != member) {
        if (member >= 0) meet_all(all[member], amax, sides, found);
        found = 0.0f;
      }
      member = at.place.member;
      f32* columns = GROUP == GROUP_members ? reinterpret_cast<f32*>(m.columnwise.amax) : amax;
      found = Amax::larger(found, amax_of_piece(m, row, i64{at.piece} * kCols, cols, columns));
    }
  }
  if (PER == PER_tensor && member >= 0) meet_all(all[member], amax, sides, found);
}
