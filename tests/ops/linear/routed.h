// Ids of experts for the runners of experts' layers.
#pragma once

#include <diecast/template/value.h>

#include <cstdint>
#include <random>
#include <vector>

namespace diecast::variants {

constexpr std::int64_t kExperts = 4, kNobody = -1;

// What a launch is given, and the expert of each row that it must lead to.
struct Routed {
  std::vector<std::int32_t> routing;
  std::vector<std::int64_t> owner;
  std::vector<std::int32_t> map{};  // of what routing holds, where ids are mapped
};

// Expert 2 has no rows, expert 1 has most.
Routed indexed(std::int64_t rows, std::mt19937_64& random);
// The same rows by the ids of nine experts, of which kExperts are here and a damaged map names
// others. Two ids may name one expert.
void map_ids(Routed& routed, std::mt19937_64& random);
// Ids as a launch takes them. Those of 64 bits differ from an expert's in their upper half alone
// where they name none.
std::vector<std::uint8_t> routing_bytes(const Routed& routed, DType type);

}  // namespace diecast::variants
