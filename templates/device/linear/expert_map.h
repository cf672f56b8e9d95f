// The expert that a router's id names. Where ranks share a layer's experts, ids count those of all ranks, and a map has which
// of its own experts each is, or none, as -1. A padding row has the id -1. Other ids of no expert are unexpected: they are of
// none too, and may be counted.
/* diecast
option type ID {i32, i64} = i32                      // of ids
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

template <bool Mapped>
struct ExpertMap {
  const i32* local;  // [experts]
  i64 experts;       // that ids count

  DIECAST_DEVICE i64 expert(i64 id) const {
    if constexpr (Mapped) return id >= 0 && id < experts ? local[id] : -1;
    return id;
  }
  // Whether an id names this expert, which is one or what expert() gave.
  template <class Id>
  DIECAST_DEVICE bool names(Id id, i64 of) const {
    if constexpr (Mapped) return id >= 0 && id < experts && local[id] == static_cast<i32>(of);
    return id == static_cast<Id>(of);
  }
  DIECAST_DEVICE bool is_unexpected(i64 id) const { return id < -1 || id >= experts; }
};

// Adds to a word how many of `count` ids are unexpected, of those that a thread takes: from `first` on each `step`-th.
template <bool Mapped, class Id>
DIECAST_DEVICE void count_unexpected(u32* word, const ExpertMap<Mapped>& map, const Id* ids, i64 count, i64 first, i64 step) {
  u32 found = 0;
  for (i64 i = first; i < count; i += step) found += map.is_unexpected(ids[i]) ? 1 : 0;
  if (found > 0) atomicAdd(word, found);
}

}  // namespace diecast
