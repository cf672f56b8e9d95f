// Arguments as most launches bring them: known to be right, and put together as the kernel has its
// parameters in memory. Beside the driver's own work ours is never warm, and a line of code that
// has to come from afar costs more than ten instructions: so few lines, and few jumps between them.
#pragma once

#include <diecast/launch/driver.h>
#include <diecast/launch/kernel/launch_words.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace diecast {

// A kernel's parameters in one piece.
struct ParameterBlock {
  std::array<void*, 5> extra;  // what the driver is given
  // Behind a word that takes what is no parameter. Not cleared.
  std::array<std::uint64_t, 2 * LaunchWords::kMost + 2> memory;

  static constexpr std::size_t kBegin = sizeof(std::uint64_t);
  void describe(const std::size_t& bytes) {
    const auto entry = [](std::uintptr_t kind) { return reinterpret_cast<void*>(kind); };
    extra = {entry(cuda::param_buffer), memory.data() + 1, entry(cuda::param_buffer_bytes),
             const_cast<std::size_t*>(&bytes), entry(cuda::param_end)};
  }
};

class QuickArguments {
 public:
  // What must be true of one of an argument's two numbers: (number - least) & mask is 0. Of
  // nothing, by itself.
  struct Rule {
    std::uint64_t least = 0, mask = 0;
  };
  // Where a number goes as a parameter, in bytes of a block's memory; kNowhere: it is none.
  using Place = std::uint16_t;
  static constexpr Place kNowhere = 0;
  // A tensor's rows: as far apart as the number of the words says, which then is no less than
  // their length, or 0: as they are long.
  struct Distance {
    std::uint8_t number = 0;
    std::uint8_t length = 0;  // the number that, under `mask`, is added to `constant`
    std::uint8_t shift = 0;   // from elements to bytes
    Place place = kNowhere;
    std::uint64_t mask = 0, constant = 0;
    std::uint64_t low = 0;  // bits of the bytes that must be 0
  };

  // Arguments in order: rules of both numbers. Then where they go, which is behind all before.
  void add(const Rule& data, const Rule& number);
  void put(std::size_t number, std::size_t bytes);  // a number of the words; 8 bytes at most
  void add(const Distance& distance) { distances_.push_back(distance); }
  Place place(std::size_t number) const;

  // Whether `words` are right for sure; then `block` has the parameters.
  bool take(const LaunchWords& words, ParameterBlock& block) const;

  static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

 private:
  using Two [[gnu::vector_size(16)]] = std::uint64_t;
  struct Check {
    Two least{}, mask{};
    std::array<Place, 2> places{};
  };

  // The first argument is there from the beginning, and asks for nothing.
  std::vector<Check> checks_ = std::vector<Check>(1);
  std::vector<Distance> distances_;
  std::size_t count_ = 0, bytes_ = 0;  // arguments; of the parameters
};

// Parameters are written in their order, eight bytes each: what is too much of a short one, the
// next one or nobody takes.
[[gnu::always_inline]] inline bool QuickArguments::take(const LaunchWords& words,
                                                        ParameterBlock& block) const {
  Two wrong{};
  auto* const memory = reinterpret_cast<unsigned char*>(block.memory.data());
  const std::int64_t* given = words.numbers.data();
  const Check* check = checks_.data();
  const Check* const checked = check + checks_.size();
  do {
    Two two;
    std::memcpy(&two, given, sizeof two);
    wrong |= (two - check->least) & check->mask;
    const std::uint64_t data = two[0], number = two[1];
    std::memcpy(memory + check->places[0], &data, sizeof data);
    std::memcpy(memory + check->places[1], &number, sizeof number);
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
    std::memcpy(memory + each.place, &distance, sizeof distance);
  }
  block.describe(bytes_);
  return (wrong[0] | wrong[1] | far) == 0;
}

}  // namespace diecast
