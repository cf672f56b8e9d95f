// Ids of experts. If each rank has some of a layer's experts, ids number those of all ranks.
// Padding has the id -1. Any other id that is no expert's is unexpected. It takes no expert either,
// and ops count such ids in a word of the caller's, if one is given. A call whose out or weight is
// empty launches nothing and so counts nothing.
#pragma once

#include <cstdint>

namespace diecast {

// Which of the weight's experts each id stands for.
struct ExpertMap {
  const std::int32_t* local = nullptr;  // [experts], -1: not here; null: ids are the weight's own
  std::int64_t experts = 0;             // of all ranks: ids are below this
};

}  // namespace diecast
