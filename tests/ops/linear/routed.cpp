// Ids of experts that are drawn; see routed.h.
#include "ops/linear/routed.h"

#include <diecast/base/text.h>

#include <cstring>
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

std::vector<std::int64_t> routing_numbers(const Routed& routed, DType type) {
  std::vector<std::int64_t> out(routed.routing.begin(), routed.routing.end());
  for (std::size_t i = 0; type == DType::i64 && i < out.size(); ++i)
    if (routed.owner[i] == kNobody && out[i] != -1)
      out[i] = (std::int64_t{1} << 32) + static_cast<std::int64_t>(i) % kExperts;
  return out;
}

std::vector<std::uint8_t> bytes_of(const std::vector<std::int64_t>& numbers, DType type) {
  std::vector<std::uint8_t> out;
  for (const std::int64_t& number : numbers) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&number);  // the low half first
    out.insert(out.end(), bytes, bytes + dtype_bits(type) / 8);
  }
  return out;
}

UnexpectedWord::UnexpectedWord(Device& device, const Routed& routed,
                               const std::vector<std::int64_t>& ids)
    : word_(device, &kBefore, sizeof kBefore) {
  const std::int64_t experts =
      routed.map.empty() ? kExperts : static_cast<std::int64_t>(routed.map.size());
  for (const std::int64_t id : ids) unexpected_ += id < -1 || id >= experts ? 1 : 0;
}

std::string UnexpectedWord::difference() const {
  std::uint32_t after = 0;
  std::memcpy(&after, word_.bytes().data(), sizeof after);
  if (!word_.guards_are_whole()) return "wrote beside the word of unexpected ids";
  if (after == kBefore + unexpected_) return "";
  return cat("counted ", after - kBefore, " unexpected ids of ", unexpected_);
}

}  // namespace diecast::variants
