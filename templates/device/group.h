// The members of a group of matrices that one launch works on, as the library describes them to
// kernels: an array in device memory.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

struct MemberSide {
  u64 data, scale, amax;  // addresses; 0 where the direction is absent
  i64 scale_stride;       // linear: bytes from one row of scales to the next
};

struct alignas(16) Member {
  u64 matrix;     // first element of the member's first row
  i64 row_begin;  // first row within the group's rows
  i64 rows;       // 0: an empty member
  i64 stride;     // elements of the matrix from one row to the next
  MemberSide rowwise, columnwise;
};
static_assert(sizeof(Member) == 96, "as the library has it");

// Members that a launch carries itself.
struct MemberList {
  Member members[16];
};

// The way of a block of threads through the tiles of all members, or of one matrix, every `step`-th
// of them, members in order and a member's tiles row by row. It only goes forward: each member is
// looked at once. Sixteens: it counts the blocks of 16 rows of the members that it has passed, each
// with all its rows.
template <bool Grouped, bool Sixteens = false>
struct GroupWalk {
  const Member* members;
  i64 count, matrix_rows;     // how many; the rows of the matrix that is no group
  i64 index, step;
  i64 member = 0, begin = 0;  // the member at hand, and the first of its tiles among all
  u32 row = 0, piece = 0;     // the tile's place in it; no matrix has 2^32 tiles
  i64 sixteens = 0;

  DIECAST_DEVICE i64 rows() const { return Grouped ? members[member].rows : matrix_rows; }

  // Goes to tile `index`, or gives false where there is none.
  DIECAST_DEVICE bool find(i64 tile_rows, u32 row_tiles) {
DIECAST_NO_UNROLL
    for (; member < (Grouped ? count : 1); ++member) {
      const i64 tiles = ceil_div(rows(), tile_rows) * row_tiles;
      if (index < begin + tiles) {
        row = static_cast<u32>(index - begin) / row_tiles;
        piece = static_cast<u32>(index - begin) - row * row_tiles;
        return true;
      }
      begin += tiles;
      if (Sixteens && member + 1 < count) {
        sixteens += ceil_div(members[member + 1].row_begin - members[member].row_begin, 16);
      }
    }
    return false;
  }
  DIECAST_DEVICE void next() { index += step; }
};

}  // namespace diecast
