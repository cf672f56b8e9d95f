// Ids of experts. Where each rank has some of a layer's experts, ids count those of all ranks. An
// id that is neither of an expert nor -1, which padding has, is unexpected. It is of no expert all
// the same, and ops count such ids in a word of the caller's, if there is one. A call whose out, or
// weight, is empty launches nothing and so counts nothing.
#pragma once

#include <cstdint>

namespace diecast {

// Which expert of the weight each of all experts is.
struct ExpertMap {
  const std::int32_t* local = nullptr;  // [experts], -1: not here; null: ids are the weight's own
  std::int64_t experts = 0;             // that ids count
};

}  // namespace diecast
