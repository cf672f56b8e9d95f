// What differs from launch to launch of a kernel whose arguments are always of the same kinds and
// types: what a prepared op brings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace diecast {

// Two numbers of each argument, KernelArgument's `data` and `number`; a launch works in them too.
struct LaunchWords {
  static constexpr std::size_t kMost = 64;                   // arguments
  static constexpr int kNumbers = 2 * kMost, kScratch = 16;  // a launch's own

  // Not cleared: only what a kernel takes is read.
  alignas(16) std::array<std::int64_t, kNumbers + kScratch> numbers;

  void set(std::size_t argument, const void* data, std::int64_t number = 0) {
    numbers[2 * argument] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(data));
    numbers[2 * argument + 1] = number;
  }
};

}  // namespace diecast
