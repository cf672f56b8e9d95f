// The words that change from launch to launch of a kernel whose arguments always have the same
// kinds and types. A prepared op fills them. An argument's place follows from its position alone.
#pragma once

#include <diecast/template/step_program.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diecast {

struct LaunchWords {
  static constexpr std::size_t kMostArguments = 64;
  static constexpr std::size_t kFirst = StepProgram::kRegisters;
  // The places of an argument's two numbers, KernelArgument's `data` and `number`.
  static constexpr std::size_t data_word(std::size_t argument) { return kFirst + 2 * argument; }
  static constexpr std::size_t number_word(std::size_t argument) { return data_word(argument) + 1; }
  using Two [[gnu::vector_size(16)]] = std::uint64_t;

  // Writes both in one store, because one load reads them and would have to wait for two stores.
  void set(std::size_t argument, const void* data, std::int64_t number = 0) {
    const Two two = {reinterpret_cast<std::uintptr_t>(data), static_cast<std::uint64_t>(number)};
    std::memcpy(&numbers[data_word(argument)], &two, sizeof two);
  }
  const void* data(std::size_t argument) const {
    return reinterpret_cast<const void*>(numbers[data_word(argument)]);
  }
  std::int64_t number(std::size_t argument) const { return numbers[number_word(argument)]; }

  // These are not cleared, because a launch reads only what its kernel takes.
  alignas(16) std::array<std::int64_t, kFirst + 2 * kMostArguments> numbers;
  std::array<void*, kMostArguments> parameters;  // of the kernel, into `numbers`
};
static_assert(LaunchWords::kFirst % 2 == 0);
static_assert(LaunchWords::number_word(LaunchWords::kMostArguments) <= 256);  // a byte tells which

}  // namespace diecast
