// The rows of out that one expert makes, some at a time, in their order. What a caller hands over says which they are:
//   indexed     routing [rows]: the expert of each row. One that is no expert of this weight, as -1, has no rows. With a map ids are
//               those of all experts, and the map has the weight's expert of each, or none, as -1
//   contiguous  routing [experts + 1]: the rows of expert e are those from routing[e] up to routing[e + 1]
//   masked      routing [experts]: each expert has rows / experts rows, the first routing[e] of which count
// Nothing of x or out is touched through what routing holds: ids and what a map gives are compared, offsets and counts bounded.
/* diecast
option enum FORM {indexed, contiguous, masked}       // how rows belong to experts
use    <diecast/device/linear/expert_map.h>          // ID, of what routing holds
require FORM == indexed || ID == i32                 // offsets and counts are i32
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/expert_map.h>

namespace diecast {

// The rows of an expert, one behind another: those from `first` up to `end`; none where end is not above it.
struct RowRange {
  i64 first, end;
};

DIECAST_DEVICE i64 bounded(i64 x, i64 most) { return x < 0 ? 0 : x > most ? most : x; }

// By offsets or counts.
template <int Form, class Id>
DIECAST_DEVICE RowRange range_of_expert(const Id* routing, i64 expert, i64 experts, i64 rows) {
  if constexpr (Form == FORM_contiguous) return {bounded(routing[expert], rows), bounded(routing[expert + 1], rows)};
  const i64 of_each = rows / experts, first = expert * of_each;
  return {first, first + bounded(routing[expert], of_each)};
}

// Of a warp: all its lanes call next() and row(). `Tile`: at most so many rows at a time, up to 32.
template <int Form, int Tile, class Id, bool Mapped>
class ExpertRows {
 public:
  DIECAST_DEVICE ExpertRows(const Id* routing, const ExpertMap<Mapped>& map, i64 expert, i64 experts, i64 rows)
      : routing_(routing), map_(map), expert_(expert) {
    if constexpr (Form == FORM_indexed) {
      end_ = rows;
    } else {
      const RowRange range = range_of_expert<Form>(routing, expert, experts, rows);
      first_ = range.first, end_ = range.end;
    }
  }

  // The expert that the index-th thread block of a strip works for, no expert's number: none. By id there are min(rows, experts) of
  // them: where ids are fewer than experts, each has the expert of its id, but for those whose expert an id before has.
  DIECAST_DEVICE static i64 expert_at(const Id* routing, const ExpertMap<Mapped>& map, i64 index, i64 experts, i64 rows) {
    if (Form != FORM_indexed || rows >= experts) return index;
    const i64 expert = map.expert(routing[index]);
    for (i64 first = 0; first < index; first += 32 * kIds) {
      if (__any_sync(~0u, ids_of(expert, routing, map, first, index) != 0)) return -1;
    }
    return expert;
  }

  // Goes on to the next rows; false: there are no more.
  DIECAST_DEVICE bool next() {
    if constexpr (Form == FORM_indexed) {
      find();
    } else {
      first_ += count_, count_ = static_cast<i32>(max(min(end_ - first_, i64{Tile}), i64{0}));
    }
    return count_ > 0;
  }
  // How many they are, and which one is the i-th, for i below that.
  DIECAST_DEVICE i32 count() const { return count_; }
  DIECAST_DEVICE i64 row(i64 i) const {
    if constexpr (Form == FORM_indexed) return __shfl_sync(~0u, mine_, static_cast<int>(i));
    return first_ + i;
  }

 private:
  static constexpr int kIds = 8;  // that a lane looks at together: they wait for memory once

  // Which of the lane's ids name an expert, of those from `first` up to `end`, by their bits. What is behind them is -1.
  DIECAST_DEVICE static u32 ids_of(i64 expert, const Id* routing, const ExpertMap<Mapped>& map, i64 first, i64 end) {
    const i64 of_lane = first + threadIdx.x % 32 * kIds;
    const auto left = static_cast<i32>(min(end - of_lane, i64{kIds}));
    Id ids[kIds];
    DIECAST_UNROLL
    for (int i = 0; i < kIds; ++i) ids[i] = i < left ? routing[of_lane + i] : Id{-1};
    u32 found = 0;
    DIECAST_UNROLL
    for (int i = 0; i < kIds; ++i) found |= map.names(ids[i], expert) ? 1u << i : 0u;
    return found;
  }

  // `found_` has those of the last ids, from first_ - 32 * kIds on, that are still to be taken.
  DIECAST_DEVICE void find() {
    const u32 lane = threadIdx.x % 32;
    for (count_ = 0; count_ < Tile;) {
      const u32 lanes = __ballot_sync(~0u, found_ != 0);
      if (lanes == 0) {
        if (first_ >= end_) return;
        found_ = ids_of(expert_, routing_, map_, first_, end_), first_ += 32 * kIds;
        continue;
      }
      const int owner = __ffs(static_cast<int>(lanes)) - 1;
      const u32 found = __shfl_sync(~0u, found_, owner);
      if (lane == static_cast<u32>(count_)) mine_ = first_ - (32 - owner) * kIds + __ffs(static_cast<int>(found)) - 1;
      if (lane == static_cast<u32>(owner)) found_ &= found_ - 1;
      ++count_;
    }
  }

  const Id* routing_;
  ExpertMap<Mapped> map_;
  i64 expert_, first_ = 0, end_ = 0, mine_ = 0;
  u32 found_ = 0;
  i32 count_ = 0;
};

}  // namespace diecast
