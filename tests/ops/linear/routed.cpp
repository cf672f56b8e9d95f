// Ids of experts that are drawn; see routed.h.
#include "ops/linear/routed.h"

#include <limits>

namespace diecast::variants {
namespace {

constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();

}  // namespace

Routed indexed(std::int64_t rows, std::mt19937_64& random) {
  constexpr std::int32_t kIds[] = {1, 1, 0, 3, -1, 1, kExperts, kLowest, 1, kHighest};
  Routed out;
  for (std::int64_t row = 0; row < rows; ++row) {
    out.routing.push_back(kIds[random() % std::size(kIds)]);
    const bool is = out.routing.back() >= 0 && out.routing.back() < kExperts;
    out.owner.push_back(is ? out.routing.back() : kNobody);
  }
  return out;
}

void map_ids(Routed& routed, std::mt19937_64& random) {
  constexpr std::int32_t kMap[] = {3, -1, 1, 0, kExperts, 1, 2, kLowest, kHighest};
  constexpr std::int32_t kNowhere[] = {-1, 1, 4, 7, 8, 9, kLowest, kHighest};
  routed.map.assign(std::begin(kMap), std::end(kMap));
  for (std::size_t row = 0; row < routed.owner.size(); ++row) {
    const std::int64_t owner = routed.owner[row];
    const std::int32_t names[] = {3, random() % 2 != 0 ? 2 : 5, 6, 0};
    routed.routing[row] =
        owner != kNobody ? names[owner] : kNowhere[random() % std::size(kNowhere)];
  }
}

std::vector<std::uint8_t> routing_bytes(const Routed& routed, DType type) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < routed.routing.size(); ++i) {
    std::int64_t id = routed.routing[i];
    if (type == DType::i64 && routed.owner[i] == kNobody) id = (std::int64_t{1} << 32) + i % 4;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&id);  // the low half first
    out.insert(out.end(), bytes, bytes + dtype_bits(type) / 8);
  }
  return out;
}

}  // namespace diecast::variants
