// The members of a group of matrices that one launch works on, as the library describes them to
// kernels: an array in device memory.
/* diecast
size count                               // members; 0 unless GROUPED
let  ROWWISE     = SIDES != columnwise
let  COLUMNWISE  = SIDES != rowwise
let  HAS_ROWS    = ROWWISE && !GROUPED     // the launch itself has where they are written
let  HAS_COLUMNS = COLUMNWISE && !GROUPED
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/threads/prefix_sum.h>

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

DIECAST_DEVICE MemberSide side_of(const void* data, const void* scale, const void* amax, i64 scale_stride) {
  return {reinterpret_cast<u64>(data), reinterpret_cast<u64>(scale), reinterpret_cast<u64>(amax), scale_stride};
}

// Members that a launch carries itself.
struct MemberList {
  Member members[16];
};

// Where a walk through the tiles of a group's members is.
struct GroupPlace {
  u32 member;    // no memory holds the descriptors of 2^31
  i64 begin;     // the first of its tiles among all
  i64 sixteens;  // blocks of 16 rows of the members before it, each with all its rows
};

// The member that has tile `index`, at `from` or behind it; `count` where there is none. A warp's lanes have one index;
// each looks at one of 32 members.
template <bool Sixteens, int TileRows>
DIECAST_DEVICE_CALL GroupPlace find_member(const Member* members, u32 count, i64 index, GroupPlace from, u32 row_tiles) {
  DIECAST_NO_UNROLL
  for (; from.member < count; from.member += 32) {
    const u32 mine = from.member + threadIdx.x % 32;
    const i64 tiles = mine < count ? ceil_div(members[mine].rows, TileRows) * row_tiles : 0;
    const i64 end = warp_prefix_sum(tiles);
    const u32 behind = __ballot_sync(0xFFFFFFFFu, index < from.begin + end);
    const int lane = __ffs(static_cast<int>(behind)) - 1;
    if constexpr (Sixteens) {
      const i64 own = mine + 1 < count ? ceil_div(members[mine + 1].row_begin - members[mine].row_begin, 16) : 0;
      const i64 passed = warp_prefix_sum(own);
      from.sixteens += behind != 0 ? __shfl_sync(0xFFFFFFFFu, passed - own, lane) : sum_of_lanes(passed);
    }
    if (behind != 0) {
      return {from.member + static_cast<u32>(lane), from.begin + __shfl_sync(0xFFFFFFFFu, end - tiles, lane), from.sixteens};
    }
    from.begin += sum_of_lanes(end);
  }
  return {count, 0, 0};
}

// The way of a warp through the tiles of all members, or of one matrix, every `step`-th of them,
// members in order and a member's tiles row by row. It only goes forward, past 32 members at a time.
// Sixteens: its place counts them.
template <bool Grouped, bool Sixteens = false>
struct GroupWalk {
  const Member* members;
  i64 count, matrix_rows;  // how many; the rows of the matrix that is no group
  i64 index;
  u32 step;
  GroupPlace place = {0, 0, 0};
  u32 row = 0, piece = 0;  // the tile's place in its member; no matrix has 2^32 tiles

  // Goes to tile `index`, or gives false where there is none. row_tiles: at least 1.
  template <int TileRows>
  DIECAST_DEVICE bool find(u32 row_tiles) {
    if constexpr (Grouped) {
      const u32 all = static_cast<u32>(count);
      place = find_member<Sixteens, TileRows>(members, all, index, place, row_tiles);
      if (place.member == all) return false;
    }
    if (!Grouped && index >= ceil_div(matrix_rows, TileRows) * row_tiles) return false;
    const u32 nth = static_cast<u32>(index - place.begin);
    row = nth / row_tiles, piece = nth - row * row_tiles;
    return true;
  }
  DIECAST_DEVICE void next() { index += step; }
};

}  // namespace diecast
