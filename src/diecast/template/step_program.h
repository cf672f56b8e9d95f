// Computes expressions of a launch's sizes in steps without a jump between them. A step is a
// product, a sum, a rounding and a limit; a grid of rounded sizes comes down to that. A general
// Program takes several times as long, because a processor cannot foresee the jumps of one launch
// among thousands of instructions of other code.
#pragma once

#include <diecast/template/expr.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace diecast {

class StepProgram {
 public:
  static constexpr int kMostSteps = 12;
  static constexpr int kRegisters = kMostSteps + 2;  // before a launch's numbers
  using Slots = std::function<std::optional<int>(std::string_view)>;

  // Adds an expression and returns the place where run() leaves its value; none if it is not of
  // this form or needs too many steps. `slot` gives the place of a name that is 0 or more at every
  // launch.
  std::optional<int> add(const Expression& expression, const Names& constant, const Slots& slot);

  // Says whether every value stays within 64 bits while no number of a launch is above `most`. It
  // is enough to try the largest numbers: a value does not fall while a number rises, except a
  // remainder, whose bound is known.
  bool holds(std::int64_t most) const;

  // Runs the steps. `values` has kRegisters places that are written, then a launch's numbers, which
  // must be within what holds() was asked for.
  void run(std::int64_t* values) const noexcept {
    values[kZero] = 0;
    values[kOne] = 1;
    std::int64_t* result = values + kOne;
    for (const Step& step : steps_) {
      const std::int64_t sum = values[step.a] * values[step.b] + values[step.c] + step.add;
      const auto whole = static_cast<std::uint64_t>((sum & step.keep) >> step.shift);
      const auto value = static_cast<std::int64_t>(high_product(2 * whole, step.part));
      *++result = value < step.most ? value : step.most;
    }
  }

 private:
  friend class StepWriter;
  struct Step {                       // (((a * b + c + add) & keep) >> shift) / odd, at most `most`
    std::uint8_t a, b, c, shift = 0;  // a, b, c: registers
    std::int32_t times = 1;  // the expression multiplies by it and divides again: for holds() alone
    std::int64_t add = 0, keep = -1, most = INT64_MAX;
    std::int64_t odd = 1;
    std::uint64_t part = std::uint64_t{1}
                         << 63;  // 2^63 / odd, rounded up: a product for a division
  };
  __extension__ typedef unsigned __int128 Product;  // under -Wpedantic too
  static std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(static_cast<Product>(a) * b >> 64);
  }
  static constexpr int kZero = 0, kOne = 1;  // registers
  std::vector<Step> steps_;
};

}  // namespace diecast
