// Ids of experts where each rank has some of a layer's experts.
#pragma once

#include <cstdint>

namespace diecast {

// Which expert of the weight each of all experts is.
struct ExpertMap {
  const std::int32_t* local = nullptr;  // [experts], -1: not here; null: ids are the weight's own
  std::int64_t experts = 0;             // that ids count
};

}  // namespace diecast
