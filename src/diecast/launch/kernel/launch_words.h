// What differs from launch to launch of a kernel whose arguments are always of the same kinds and
// types: what a prepared op brings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diecast {

// Two numbers of each argument, KernelArgument's `data` and `number`; a launch works in them too.
struct LaunchWords {
  static constexpr std::size_t kMost = 64;                   // arguments
  static constexpr int kNumbers = 2 * kMost, kScratch = 16;  // a launch's own

  using Two [[gnu::vector_size(16)]] = std::int64_t;

  // Not cleared: only what a kernel takes is read.
  alignas(16) std::array<std::int64_t, kNumbers + kScratch> numbers;

  void set(std::size_t argument, const void* data, std::int64_t number = 0) {
    // In one piece, as they are read: two stores would have to leave the processor's queue first.
    const Two both = {reinterpret_cast<std::intptr_t>(data), number};
    std::memcpy(numbers.data() + 2 * argument, &both, sizeof both);
  }
};

}  // namespace diecast
