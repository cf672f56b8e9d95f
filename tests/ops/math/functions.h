// The functions of diecast/device/math on any device: their bits, and their errors against the C
// library's in f64.
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
  double (*exact)(double x, double y);
  double ulps;        // of f32, as its header says
  float fast_error;   // of the approximation for usual arguments, relative
  std::uint64_t sum;  // sum_of_all()
};
const std::array<Function, 14>& functions();
// A test of each, by its number, and what it is called.
inline auto every_function() { return ::testing::Range(std::size_t{0}, functions().size()); }
inline std::string function_name(const ::testing::TestParamInfo<std::size_t>& info) {
  return functions()[info.param].name;
}

// How many units in the last place of a type `got` is from the value; 0 for two NaN or two equal
// infinities, also where the value rounds to infinity.
double ulps_from(float got, double exact, DType type);

// Of a function's results for all 2^32 floats (and one drawn exponent of each), the bits times the
// number's place, added modulo 2^64.
std::uint64_t sum_of_all(const std::shared_ptr<Device>& device, std::size_t function);

// Runs functions on a device.
class Functions {
 public:
  Functions(std::shared_ptr<Device> device, DType type, bool fast = false);
  // Results of the numbers with bits first, first + step, ... under exponents with bits y, as
  // floats; a NaN as one of them.
  std::vector<float> run(std::size_t function, std::uint32_t first, std::uint32_t step,
                         const std::vector<std::uint32_t>& y);

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Kernel> kernel_;
  DType type_;
};

// The number that a type's bits are.
float number_of(std::uint32_t bits, DType type);
// Exponents: drawn bits, small numbers, integers.
std::vector<std::uint32_t> exponents(std::size_t count, DType type);

// The largest error over a stretch, and where it is.
struct Worst {
  double ulps = 0;
  std::string what = {};
};
Worst worst_error(Functions& on, std::size_t function, DType type, std::uint32_t first,
                  std::uint32_t step, const std::vector<std::uint32_t>& y);
// What it may be.
double bound_of(std::size_t function, DType type);

}  // namespace diecast::math_test
