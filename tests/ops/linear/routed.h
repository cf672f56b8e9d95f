// Ids of experts for the runners of experts' layers.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/template/value.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ops/device_buffer.h"

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
// What a launch is given: of i64, ids of no expert differ from an expert's in their upper half
// alone, but for -1.
std::vector<std::int64_t> routing_numbers(const Routed& routed, DType type);
std::vector<std::uint8_t> bytes_of(const std::vector<std::int64_t>& numbers, DType type);
// A word that a launch may add unexpected ids to, and how many these are.
class UnexpectedWord {
 public:
  UnexpectedWord(Device& device, const Routed& routed, const std::vector<std::int64_t>& ids);
  void* address() const { return word_.data_pointer(); }
  // Empty, or what is wrong after a launch that was to count.
  std::string difference() const;

 private:
  static constexpr std::uint32_t kBefore = 1000000007;
  std::uint32_t unexpected_ = 0;
  DeviceBuffer word_;
};

}  // namespace diecast::variants
