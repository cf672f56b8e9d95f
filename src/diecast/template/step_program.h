// Expressions of a launch's sizes as steps without a jump between them. A step is a product, a sum,
// a rounding and a limit, which is what a grid of rounded sizes comes down to; a general Program
// takes several times as long, because a processor cannot foresee the jumps of one launch in a
// thousand instructions of other code.
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
  static constexpr int kRegisters = kMostSteps + 2;  // beyond the slots
  using Slots = std::function<std::optional<int>(std::string_view)>;

  // `slots`: how many numbers a launch brings.
  explicit StepProgram(int slots = 0) : zero_(slots), one_(slots + 1) {}

  // Where run() leaves the expression's value; none for one that is not of this form or needs more
  // steps than there may be. `slot` gives the number of a name that is 0 or more at every launch.
  std::optional<int> add(const Expression& expression, const Names& constant, const Slots& slot);

  // `values`: the slots, then kRegisters that are written. False on overflow.
  bool run(std::int64_t* values) const noexcept {
    values[zero_] = 0;
    values[one_] = 1;
    std::int64_t* result = values + one_;
    for (const Step& step : steps_) {
      std::int64_t value = 0;
      const bool over = __builtin_mul_overflow(values[step.a], values[step.b], &value) |
                        static_cast<int>(__builtin_add_overflow(value, values[step.c], &value)) |
                        static_cast<int>(__builtin_add_overflow(value, step.add, &value));
      if (over) [[unlikely]]
        return false;
      value = (value & step.keep) >> step.shift;
      *++result = value < step.most ? value : step.most;
    }
    return true;
  }

 private:
  friend class StepWriter;
  struct Step {  // ((a * b + c + add) & keep) >> shift, at most `most`; a, b, c are registers
    std::uint8_t a, b, c, shift = 0;
    std::int64_t add = 0, keep = -1, most = INT64_MAX;
  };
  int zero_, one_;
  std::vector<Step> steps_;
};

}  // namespace diecast
