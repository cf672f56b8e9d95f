// The functions of diecast/device/math on any device: their bits, and their errors against those of
// f64 that the device has.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/device_buffer.h"

namespace diecast::math_test {

struct Function {
  const char* name;
  float fast_error;   // of the approximation for usual arguments, relative
  std::uint64_t sum;  // sum_of_all()
};
const std::array<Function, 14>& functions();
// A test of each, by its number, and what it is called.
inline auto every_function() { return ::testing::Range(std::size_t{0}, functions().size()); }
inline std::string function_name(const ::testing::TestParamInfo<std::size_t>& info) {
  return functions()[info.param].name;
}

// The most that an error may be, in ulp: of f32 what its header says.
double bound_of(std::size_t function, DType type);
// The number that a type's bits are.
float number_of(std::uint32_t bits, DType type);
// Exponents: drawn bits, small numbers, integers.
std::vector<std::uint32_t> exponents(std::size_t count, DType type);

// Numbers with the bits first, first + step, ...
struct Numbers {
  std::uint32_t first, step;
  std::int64_t count;
};
inline constexpr Numbers kAllFloats{0, 1, std::int64_t{1} << 32};
// Those of a type of so many bits that are `step` apart.
inline Numbers numbers_apart(std::uint32_t step, int bits) {
  return {0, step, (std::int64_t{1} << bits) / step};
}

// The largest error, in ulp, and where it is.
struct Worst {
  double ulps = 0;
  std::string what = {};
};

// Runs functions on a device, under exponents with bits y, taken in turn: 2^n of them.
class Functions {
 public:
  Functions(std::shared_ptr<Device> device, DType type, bool fast = false);
  DType type() const { return type_; }
  // As floats; a NaN as one of them.
  std::vector<float> results(std::size_t function, const Numbers& numbers,
                             const std::vector<std::uint32_t>& y);
  Worst worst_error(std::size_t function, const Numbers& numbers,
                    const std::vector<std::uint32_t>& y);
  // Of the results for all 2^32 floats (and one drawn exponent of each), the bits times the
  // number's place, added modulo 2^64.
  std::uint64_t sum_of_all(std::size_t function);

 private:
  void launch(const char* gives, std::size_t function, const Numbers& numbers,
              const std::vector<std::uint32_t>& y, const variants::DeviceBuffer& to);
  std::uint64_t told(const char* gives, std::size_t function, const Numbers& numbers,
                     const std::vector<std::uint32_t>& y);

  std::shared_ptr<Device> device_;
  std::shared_ptr<Runtime> runtime_;
  DType type_;
  bool fast_;
};

// Under exponents of all kinds; prints the worst if it shall tell.
void expect_within_bounds(Functions& on, std::size_t function, const Numbers& numbers, bool tell);

}  // namespace diecast::math_test
