// What the runners of variants share: the matrices of a case in device memory, with poison around
// them, and the comparison of what a kernel wrote.
#pragma once

#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/reference/stochastic.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/variants.h"

namespace diecast::variants {

bool flag(const Specialization& s, std::string_view name);
std::string word_of(const Specialization& s, std::string_view name);  // of an enumeration
DType dtype_of(const Specialization& s, std::string_view parameter);
// {seed, offset} where codes are rounded stochastically, with words above 32 bits.
std::optional<reference::RandomState> random_of(const Specialization& s);
template <class Enum>
Enum enum_of(const Specialization& s, std::string_view name) {
  return static_cast<Enum>(s.number(name));
}

// A matrix in device memory, its rows as far apart as the case and the ROWS class want, and what
// lies between and behind the rows poisoned with NaN.
struct Matrix {
  std::int64_t rows, cols, stride;
  DType dtype;
  std::vector<std::uint8_t> host;
  std::unique_ptr<DeviceBuffer> device;

  Tensor on_host() { return {host.data(), dtype, Shape{rows, cols}, stride, nullptr}; }
  KernelArgument argument() const {
    return KernelArgument::tensor(dtype, device->data_pointer(), stride);
  }
};

// Elements from one row of a matrix of the case to the next; `rows` is the ROWS class.
std::int64_t stride_for(const Case& one, DType dtype, const std::string& rows);

// With device_rows, `spare` rows that do not count lie behind the others, all NaN.
constexpr std::int64_t kSpareRows = 2;

// The case's elements: hostile ones, or patterns.
std::vector<std::uint8_t> values_of(const Case& one, DType dtype, bool specials);
// Of the amax of a tensor: itself, or where the patterns' infinities and NaN are in it, a number.
float usable_amax(const Case& one, float amax);

// Amaxes of blocks as a calibration gives them: larger or smaller than the blocks' own, 0, and a
// few that are infinite, NaN or subnormal.
std::vector<float> block_amaxes(std::int64_t count, std::uint64_t seed);

Matrix input_matrix(Device& device, const Case& one, DType dtype, const std::string& rows);

// The rows of a case in members, the first and the fourth of which are empty.
std::vector<std::int64_t> offsets_for(const Case& one);

// The argument `rows`, with its memory where the count lies on the device.
struct Rows {
  std::unique_ptr<DeviceBuffer> memory;
  KernelArgument argument;
};
Rows rows_of(Device& device, const Case& one);

// Bytes of the rows of an output that a count in device memory leaves untouched; `bytes`: of the
// rows that count.
std::size_t spare_bytes(const Case& one, std::size_t bytes);

// Whether the case's rows of linear scales are apart: as SCALES_APART says; where a kernel takes
// both, in cases of an odd number of rows.
bool scales_apart(const Specialization& s, const Case& one);

// Bytes from one row of them to the next as an argument wants it: 0 for dense rows and tiles.
std::int64_t scale_stride(std::int64_t blocks, bool apart);

// Block scales of [rows, blocks] as LAYOUT has them, zeros in the padding, poison between rows.
std::vector<std::uint8_t> laid_out(const Specialization& s, const std::vector<std::uint8_t>& scales,
                                   std::int64_t rows, std::int64_t blocks, bool apart = false);

// Columnwise MX scales of [cols, blocks] the same way: linear ones of FP8 stand as its data does,
// [blocks, cols]. `row_length`: of a row of linear scales.
struct ColumnScales {
  std::vector<std::uint8_t> bytes;
  std::int64_t row_length;
};
ColumnScales column_scales(const Specialization& s, const std::vector<std::uint8_t>& scales,
                           std::int64_t cols, std::int64_t blocks, bool apart = false);

// Where an output differs from what it must be; bytes behind it must still be poison.
std::string compare(const char* name, const DeviceBuffer& buffer, const void* expected,
                    std::size_t bytes);

// Empty, or the error.
std::string launch_and_wait(Kernel& kernel, std::span<const KernelArgument> arguments,
                            const Bindings& tunes);
template <class Arguments>
std::string launch_and_wait(Kernel& kernel, const Arguments& arguments, const Bindings& tunes) {
  return launch_and_wait(kernel, std::span<const KernelArgument>(arguments.in_order()), tunes);
}

// Runs a kernel once on a case, with these values for the tunes that are read at launch, and says
// what differs from the reference. Each is defined in a variants_*.cpp and says there which
// template it is for; nothing else lists it:
//
//   const RunnerFor<args::Zeros> zeros_runner{zeros_difference};
using Runner = std::string (*)(Kernel& kernel, const Case& one, const Bindings& tunes);
void add_runner(std::string_view template_name, Runner runner);
template <class Arguments>
struct RunnerFor {
  explicit RunnerFor(Runner runner) { add_runner(Arguments::kTemplate, runner); }
};

}  // namespace diecast::variants
