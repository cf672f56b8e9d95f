// The functions of diecast/device/math on any device: their bits, and their errors against the C
// library's in f64 or wider.
#pragma once

#include <diecast/diecast.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/device_buffer.h"

namespace diecast::math_test {

struct Function {
  const char* name;
  long double (*exact)(long double x, long double y);
  double ulps;       // of f32, as its header says
  float fast_error;  // of the approximation for usual arguments, relative
};
const std::array<Function, 14>& functions();

// How many units in the last place of a type `got` is from the value; 0 for two NaN or two equal
// infinities, also where the value rounds to infinity.
double ulps_from(float got, long double exact, DType type);

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

// The worst function's error over a stretch, in words, or empty where each is within its bound.
std::string worst_error(Functions& on, std::size_t function, DType type, std::uint32_t first,
                        std::uint32_t step, const std::vector<std::uint32_t>& y);

}  // namespace diecast::math_test
