// Arguments as most launches bring them, known to be right where they lie, which is as the kernel
// has its parameters in memory. Beside the driver's own work ours is never warm, and a line of code
// that has to come from afar costs more than ten instructions: so few lines, and few jumps.
#pragma once

#include <diecast/launch/driver.h>
#include <diecast/launch/kernel/launch_words.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace diecast {

class QuickArguments {
 public:
  // What must be true of a number: (number - least) & mask is 0. Of nothing, by itself.
  struct Rule {
    std::uint64_t least = 0, mask = 0;
  };
  // A tensor's rows: as far apart as its number among the words says, which then is no less than
  // their length, or 0: as they are long.
  struct Distance {
    std::uint8_t number = 0;
    std::uint8_t length = 0;  // the number that, under `mask`, is added to `constant`
    std::uint8_t shift = 0;   // from elements to bytes
    std::uint64_t mask = 0, constant = 0;
    std::uint64_t low = 0;  // bits of the bytes that must be 0
  };
  using Place = LaunchPlaces::Place;
  using Extra = std::array<void*, 5>;  // parameters in one piece, as the driver is given them

  explicit QuickArguments(std::size_t parameter_bytes = 0) : parameter_bytes_(parameter_bytes) {}

  void add(Place place, const Rule& rule);  // of a whole word
  void add(const Distance& distance) { distances_.push_back(distance); }

  // Whether `words` are right for sure; then they have the parameters, which `extra` describes.
  bool take(LaunchWords& words, Extra& extra) const;

  static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

 private:
  using Two [[gnu::vector_size(16)]] = std::uint64_t;
  struct Check {
    Two least{}, mask{};
  };

  // Of two words each. The first two are there from the beginning, and must be nothing.
  std::vector<Check> checks_ = std::vector<Check>(1);
  std::vector<Distance> distances_;
  std::size_t parameter_bytes_;
};

[[gnu::always_inline]] inline bool QuickArguments::take(LaunchWords& words, Extra& extra) const {
  Two wrong{};
  const std::int64_t* given = words.numbers.data() + LaunchWords::kParameters;
  const Check* check = checks_.data();
  const Check* const checked = check + checks_.size();
  do {
    Two two;
    std::memcpy(&two, given, sizeof two);
    wrong |= (two - check->least) & check->mask;
    given += 2, ++check;
  } while (check != checked);
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
  const auto entry = [](std::uintptr_t kind) { return reinterpret_cast<void*>(kind); };
  extra = {entry(cuda::param_buffer), words.parameters(), entry(cuda::param_buffer_bytes),
           const_cast<std::size_t*>(&parameter_bytes_), entry(cuda::param_end)};
  return (wrong[0] | wrong[1] | far) == 0;
}

}  // namespace diecast
