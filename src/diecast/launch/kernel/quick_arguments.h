// Arguments as most launches bring them: known to be right, and the kernel's parameters made of
// them, in straight code. Beside the driver's own work ours is never warm, so a jump that nothing
// foresees costs as much as ten other instructions.
#pragma once

#include <diecast/launch/kernel/launch_words.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace diecast {

class QuickArguments {
 public:
  // What must be true of one of an argument's two numbers: ((number - least) & high) and
  // (number & low) are 0. Of nothing, by itself.
  struct Rule {
    std::uint64_t least = 0, high = 0, low = 0;
  };
  // A tensor's rows: as far apart as the number of the words says, which then is no less than
  // their length, or 0: as they are long.
  struct Distance {
    std::uint8_t number = 0;
    std::uint8_t length = 0;  // the number that, under `mask`, is added to `constant`
    std::uint8_t shift = 0;   // from elements to bytes
    std::uint64_t mask = 0, constant = 0;
    std::uint64_t low = 0;  // bits of the bytes that must be 0
  };

  void add(const Rule& data, const Rule& number);
  void add_parameter(std::size_t number);  // begins at this number of the words
  void add(const Distance& distance) { distances_.push_back(distance); }

  // Whether `words` are right for sure. `parameters`, with the place of Parameters, gets one
  // pointer each, into the words, and behind them some more.
  bool take(LaunchWords& words, void** parameters) const;

  static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  using Parameters = std::array<void*, LaunchWords::kMost>;

 private:
  using Two [[gnu::vector_size(16)]] = std::uint64_t;
  static constexpr std::size_t kStep = 4;  // arguments, and pairs of parameters, without a jump
  struct Check {
    Two least{}, high{}, low{};
  };
  struct Places {  // of two parameters, in bytes from the words' beginning
    Two at{};
  };

  // Both filled up to whole steps with what asks for nothing, and never empty.
  std::vector<Check> checks_ = std::vector<Check>(kStep);
  std::vector<Places> places_ = std::vector<Places>(kStep);
  std::vector<Distance> distances_;
  std::size_t count_ = 0, parameters_ = 0;
};

[[gnu::always_inline]] inline bool QuickArguments::take(LaunchWords& words,
                                                        void** parameters) const {
  Two wrong{};
  const std::int64_t* given = words.numbers.data();
  const Check* check = checks_.data();
  const Check* const checked = check + checks_.size();
  do {
    for (std::size_t i = 0; i < kStep; ++i) {
      Two two;
      std::memcpy(&two, given + 2 * i, sizeof two);
      wrong |= ((two - check[i].least) & check[i].high) | (two & check[i].low);
    }
    given += 2 * kStep, check += kStep;
  } while (check != checked);
  for (const Distance& each : distances_) {
    const auto number = [&](std::uint8_t at) {
      return static_cast<std::uint64_t>(words.numbers[at]);
    };
    const std::uint64_t length = each.constant + (number(each.length) & each.mask);
    const std::uint64_t distance = number(each.number) + (number(each.number) == 0 ? length : 0);
    wrong[0] |= ((distance - length) & kTop) | ((distance << each.shift) & each.low);
    words.numbers[each.number] = static_cast<std::int64_t>(distance);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(words.numbers.data());
  const Places* place = places_.data();
  const Places* const placed = place + places_.size();
  do {
    for (std::size_t i = 0; i < kStep; ++i) {
      const Two two = place[i].at + begin;
      std::memcpy(parameters + 2 * i, &two, sizeof two);
    }
    parameters += 2 * kStep, place += kStep;
  } while (place != placed);
  return (wrong[0] | wrong[1]) == 0;
}

}  // namespace diecast
