// The expert that a router's id names. Where ranks share a layer's experts, ids count those of all ranks, and a map has which
// of its own experts each is, or none, as -1.
/* diecast
option type ID {i32, i64} = i32                      // of ids
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// An id that it does not count is of none.
template <bool Mapped>
struct ExpertMap {
  const i32* local;  // [experts]
  i64 experts;

  DIECAST_DEVICE i64 expert(i64 id) const {
    if constexpr (Mapped) return id >= 0 && id < experts ? local[id] : -1;
    return id;
  }
};

}  // namespace diecast
