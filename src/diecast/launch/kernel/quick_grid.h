// Computes the grid of a usual launch, in which only the grid varies and steps compute it.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/kernel/launch_words.h>
#include <diecast/template/step_program.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diecast {

class QuickGrid {
 public:
  QuickGrid() = default;
  // `constant` is the part of the shape that never varies.
  QuickGrid(const LaunchShape& constant, StepProgram steps)
      : steps_(std::move(steps)), constant_(constant) {}
  // Dimension `field` of the grid is the word `result` that the steps leave. It may be at most
  // `most` and must be a multiple of `cluster`, a power of two.
  void add(std::size_t field, int result, std::int64_t most, std::int64_t cluster) {
    of_grid_.push_back({field, static_cast<std::size_t>(result), most, cluster - 1});
  }

  const LaunchShape& constant() const { return constant_; }
  // Computes the grid for sizes within what the steps hold. False: a dimension of it is 0, over its
  // most, or not a whole number of clusters.
  bool take(LaunchWords& words, LaunchShape& shape) const {
    steps_.run(words.numbers.data());
    std::int64_t left = 0;
    for (const Variable& each : of_grid_) {
      const std::int64_t number = words.numbers[each.result];
      left |= (each.most - number) | (number - 1) | -(number & each.rest);
      shape.grid[each.field] = static_cast<std::uint32_t>(number);
    }
    return left >= 0;
  }

 private:
  struct Variable {
    std::size_t field, result;
    std::int64_t most, rest;
  };
  StepProgram steps_;
  std::vector<Variable> of_grid_;
  LaunchShape constant_;
};

}  // namespace diecast
