// What differs from launch to launch of a kernel whose arguments are always of the same kinds and
// types, put where the kernel has it in memory: what a prepared op brings.
#pragma once

#include <diecast/template/specialization.h>
#include <diecast/template/step_program.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diecast {

struct LaunchWords {
  static constexpr std::size_t kMostArguments = 64;
  // Two of each argument, the one that nobody reads, and what makes pairs of them.
  static constexpr std::size_t kMost = 2 * kMostArguments + 2;
  static constexpr std::size_t kParameters = StepProgram::kRegisters;  // which is the first one

  void* parameters() { return numbers.data() + kParameters; }

  // Not cleared: only what a kernel takes is read.
  alignas(16) std::array<std::int64_t, kParameters + kMost> numbers;
};

// Where the two numbers of each argument go, KernelArgument's `data` and `number`: into the
// kernel's parameters, which C++ lays out; behind these, where it is no parameter but must be
// looked at; or between the two, into a word that nobody reads.
class LaunchPlaces {
 public:
  using Place = std::uint16_t;  // in bytes of LaunchWords

  // Of more than kMostArguments the first ones.
  static LaunchPlaces of(const Specialization& specialization);

  // In the arguments' order: of a short parameter eight bytes are written, and what is too much the
  // next one takes. What the kernel does not take goes into the word that nobody reads.
  void set(LaunchWords& words, std::size_t argument, const void* data,
           std::int64_t number = 0) const {
    char* const begin = reinterpret_cast<char*>(words.numbers.data());
    std::memcpy(begin + data_place(argument), &data, sizeof data);
    std::memcpy(begin + number_place(argument), &number, sizeof number);
  }
  const void* data(const LaunchWords& words, std::size_t argument) const {
    return reinterpret_cast<const void*>(at(words, data_place(argument)));
  }
  std::int64_t number(const LaunchWords& words, std::size_t argument) const {
    return at(words, number_place(argument));
  }

  Place data_place(std::size_t argument) const { return of_[argument][0]; }
  Place number_place(std::size_t argument) const { return of_[argument][1]; }
  // Of the number that is a whole word: which one.
  int word(std::size_t argument) const { return number_place(argument) / 8; }
  std::size_t parameter_bytes() const { return parameter_bytes_; }

 private:
  std::int64_t at(const LaunchWords& words, Place place) const {
    std::int64_t number = 0;
    if (place != nowhere_)
      std::memcpy(&number, reinterpret_cast<const char*>(words.numbers.data()) + place,
                  sizeof number);
    return number;
  }

  std::array<std::array<Place, 2>, LaunchWords::kMostArguments> of_{};
  Place nowhere_ = 0;
  std::size_t parameter_bytes_ = 0;
};

}  // namespace diecast
