// Runs any specialization of a built-in template on any device and holds what it wrote against the
// scalar reference, to the bit. Which variants there are comes from the templates' own space().
#pragma once

#include <diecast/diecast.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diecast::variants {

struct Case {
  std::int64_t rows = 0;  // 1 where a template has a count of elements
  std::int64_t cols = 0;
  bool strided = false;      // rows apart
  bool device_rows = false;  // the row count in device memory, the host knowing a larger bound
  std::uint64_t seed = 0;
  bool patterns = false;  // every value of a 16-bit type one after another, not hostile ones
};

// Every case of the template's samples that this specialization takes.
std::vector<Case> cases_of(const Specialization& specialization);

// All 65,536 values of a specialization's 16-bit IN, in order and scattered.
std::vector<Case> pattern_cases(const Specialization& specialization);

// Launches the kernel on the case; empty when every output is equal to the reference to the bit and
// nothing else was written, else what differs.
std::string difference(Kernel& kernel, const Case& one);

// Values that quantizers stumble over: ties, zeros of both signs, subnormals, outliers; with
// `specials` also NaN and infinities. `elements` of dtype, as bytes.
std::vector<std::uint8_t> hostile_values(DType dtype, std::int64_t elements, std::uint64_t seed,
                                         bool specials);

// The built-in templates that have a runner, in order.
const std::vector<std::string>& known_templates();

}  // namespace diecast::variants
