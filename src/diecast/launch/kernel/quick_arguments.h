// Checks the arguments of a usual launch where they lie. Between two launches the driver's own work
// drives our code out of the processor's cache, and to fetch a line of code costs more than ten
// instructions. So this code has few lines and few jumps.
#pragma once

#include <diecast/launch/kernel/launch_words.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace diecast {

class QuickArguments {
 public:
  // A rule for a number: (number - least) & mask must be 0. The default rule asks nothing.
  struct Rule {
    std::uint64_t least = 0, mask = 0;
  };
  // A rule for the distance of a tensor's rows, in elements. The distance is a number among the
  // words and is at least a row's length; 0 stands for that length.
  struct Distance {
    std::uint8_t number = 0;
    std::uint8_t length = 0;  // the number that, under `mask`, is added to `constant`
    std::uint8_t shift = 0;   // from elements to bytes
    std::uint64_t mask = 0, constant = 0;
    std::uint64_t low = 0;  // bits of the bytes that must be 0
  };

  void add(std::size_t argument, const Rule& data, const Rule& number);
  void add(const Distance& distance) { distances_.push_back(distance); }
  void add_parameter(std::size_t word) { parameters_.push_back(static_cast<std::uint8_t>(word)); }

  // Returns true if `words` are right for sure; then it has filled in their parameters.
  bool take(LaunchWords& words) const;

  static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

 private:
  using Two = LaunchWords::Two;
  struct Check {
    Two least{}, mask{};
  };

  std::vector<Check> checks_;  // of each argument, up to the last one that has a rule
  std::vector<Distance> distances_;
  std::vector<std::uint8_t> parameters_;
};

[[gnu::always_inline]] inline bool QuickArguments::take(LaunchWords& words) const {
  Two wrong{};
  const std::int64_t* given = words.numbers.data() + LaunchWords::kFirst;
  for (const Check& check : checks_) {
    Two two;
    std::memcpy(&two, given, sizeof two);
    wrong |= (two - check.least) & check.mask;
    given += 2;
  }
  std::uint64_t far = 0;
  for (const Distance& each : distances_) {
    const auto number = [&](std::uint8_t at) {
      return static_cast<std::uint64_t>(words.numbers[at]);
    };
    const std::uint64_t length = each.constant + (number(each.length) & each.mask);
    const std::uint64_t distance = number(each.number) + (number(each.number) == 0 ? length : 0);
    far |= ((distance - length) & kTop) | ((distance << each.shift) & each.low);
    words.numbers[each.number] = static_cast<std::int64_t>(distance);
  }
  void** parameter = words.parameters.data();
  for (const std::uint8_t word : parameters_) *parameter++ = &words.numbers[word];
  return (wrong[0] | wrong[1] | far) == 0;
}

}  // namespace diecast
