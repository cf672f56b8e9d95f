// Runners of the templates that dequantize: codes and scales of every byte there is.
#include <diecast/ops/reference/dequantize_nvfp4.h>
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>

#include <cmath>
#include <random>
#include <type_traits>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {
std::vector<std::uint8_t> random_bytes(std::mt19937_64& random, std::int64_t count, unsigned mask) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() & mask);
  return bytes;
}

std::vector<float> random_factors(std::mt19937_64& random, std::int64_t count) {
  std::vector<float> factors(static_cast<std::size_t>(count));
  for (float& factor : factors) {
    factor = std::ldexp(1.0f + static_cast<float>(random() % 1024) / 1024.0f,
                        static_cast<int>(random() % 40) - 20);
  }
  return factors;
}

// The output matrix of a case as it must be in the end; gaps between rows stay poison.
struct Wanted {
  DType dtype;
  std::int64_t stride;
  std::vector<std::uint8_t> bytes;

  template <class Value>
  Wanted(DType type, const std::string& rows, const Case& one, Value value)
      : dtype(type), stride(stride_for(one, type, rows)) {
    bytes.assign(static_cast<std::size_t>(one.rows * stride * dtype_bits(dtype) / 8),
                 DeviceBuffer::kPoison);
    for (std::int64_t row = 0; row < one.rows; ++row) {
      for (std::int64_t col = 0; col < one.cols; ++col) {
        reference::store(bytes.data(), dtype, row * stride + col, value(row, col));
      }
    }
  }
};

// Launches with q and its factors, of the matrix or of its transpose.
template <class Arguments>
std::string nvfp4_difference(Kernel& kernel, const Case& one, const Bindings& tunes,
                             const reference::PackedNvfp4& q, const std::vector<float>& factor,
                             const Wanted& want) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const std::int64_t blocks = ceil_div(q.cols, q.block);
  const bool apart = scales_apart(s, one);
  const auto placed = laid_out(s, q.scales, q.rows, blocks, apart);
  constexpr bool kStrided = std::is_same_v<Arguments, args::DequantizeNvfp4>;  // codes of rows
  DeviceBuffer codes(device, q.codes.data(), q.codes.size());
  DeviceBuffer scales(device, placed.data(), placed.size());
  DeviceBuffer factors(device, factor.data(), factor.size() * sizeof(float));
  DeviceBuffer out(device, want.bytes.size() + spare_bytes(one, want.bytes.size()));
  const Rows rows = rows_of(device, one);
  const Arguments arguments{.codes = {codes.data_pointer(), kStrided ? q.row_bytes : 0},
                            .scales = {scales.data_pointer(), scale_stride(blocks, apart)},
                            .amax = factors.data_pointer(),
                            .out = {want.dtype, out.data_pointer(), want.stride},
                            .rows = rows.argument,
                            .cols = one.cols};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.bytes.data(), want.bytes.size()) : problem;
}

std::string dequantize_nvfp4_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  std::mt19937_64 random(one.seed);
  reference::PackedNvfp4 q;
  q.rows = one.rows;
  q.cols = one.cols;
  q.block = static_cast<int>(s.number("BLOCK"));
  q.bound = static_cast<int>(s.number("BOUND"));
  q.row_scaled = flag(s, "ROW_SCALE");
  q.row_bytes = (one.cols + 1) / 2 + (word_of(s, "ROWS") == "any" && one.strided ? 3 : 0);
  const std::int64_t blocks = (one.cols + q.block - 1) / q.block;
  q.codes = random_bytes(random, one.rows * q.row_bytes, 0xFF);
  q.scales = random_bytes(random, one.rows * blocks, 0x7F);  // 0x7F: NaN
  const std::vector<float> factor = random_factors(random, q.row_scaled ? one.rows : 1);
  const auto form =
      word_of(s, "GLOBAL") == "decode" ? reference::Global::decode : reference::Global::amax;
  const Wanted want(dtype_of(s, "OUT"), word_of(s, "ROWS"), one,
                    [&](std::int64_t row, std::int64_t col) {
                      return reference::dequantized(q, form, factor, row, col);
                    });
  return nvfp4_difference<args::DequantizeNvfp4>(kernel, one, tunes, q, factor, want);
}

std::string dequantize_nvfp4_columns_difference(Kernel& kernel, const Case& one,
                                                const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  std::mt19937_64 random(one.seed);
  reference::PackedNvfp4 q;  // of the transpose
  q.rows = one.cols;
  q.cols = one.rows;
  q.bound = static_cast<int>(s.number("BOUND"));
  q.row_scaled = flag(s, "ROW_SCALE");
  const std::int64_t blocks = (one.rows + 15) / 16;
  q.row_bytes = blocks * 8;
  q.codes = random_bytes(random, q.rows * q.row_bytes, 0xFF);
  q.scales = random_bytes(random, q.rows * blocks, 0x7F);
  const std::vector<float> factor = random_factors(random, q.row_scaled ? q.rows : 1);
  const auto form =
      word_of(s, "GLOBAL") == "decode" ? reference::Global::decode : reference::Global::amax;
  const Wanted want(dtype_of(s, "OUT"), "any", one, [&](std::int64_t row, std::int64_t col) {
    return reference::dequantized(q, form, factor, col, row);
  });
  return nvfp4_difference<args::DequantizeNvfp4Columns>(kernel, one, tunes, q, factor, want);
}

std::string dequantize_mx_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed);
  const std::string word = word_of(s, "FORMAT");
  const Format format = word == "mxfp4"        ? Format::mxfp4
                        : word == "mxfp8_e5m2" ? Format::mxfp8_e5m2
                                               : Format::mxfp8_e4m3;
  const bool columnwise = word_of(s, "SIDES") == "columnwise";
  const std::int64_t lines = columnwise ? one.cols : one.rows;
  const std::int64_t blocks = ((columnwise ? one.rows : one.cols) + 31) / 32;
  const std::int64_t bytes = format == Format::mxfp4 ? lines * blocks * 16 : one.rows * one.cols;
  reference::MxSide side;
  side.data = random_bytes(random, bytes, 0xFF);
  side.scales = random_bytes(random, lines * blocks, 0xFF);
  const Wanted want(
      dtype_of(s, "OUT"), word_of(s, "ROWS"), one, [&](std::int64_t row, std::int64_t col) {
        return reference::mx_element(side, format, columnwise, one.rows, one.cols, row, col);
      });
  const bool apart = scales_apart(s, one);
  const ColumnScales placed =
      columnwise ? column_scales(s, side.scales, lines, blocks, apart)
                 : ColumnScales{laid_out(s, side.scales, lines, blocks, apart), blocks};
  DeviceBuffer data(device, side.data.data(), side.data.size());
  DeviceBuffer scales(device, placed.bytes.data(), placed.bytes.size());
  DeviceBuffer out(device, want.bytes.size() + spare_bytes(one, want.bytes.size()));
  const Rows rows = rows_of(device, one);
  const std::int64_t stride = scale_stride(placed.row_length, apart);
  const std::int64_t pitch = columnwise && format == Format::mxfp4 ? stride : 0;
  const args::DequantizeMx arguments{.codes = data.data_pointer(),
                                     .scales = {scales.data_pointer(), stride - pitch},
                                     .out = {want.dtype, out.data_pointer(), want.stride},
                                     .rows = rows.argument,
                                     .cols = one.cols,
                                     .pitch_t = pitch};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.bytes.data(), want.bytes.size()) : problem;
}

const RunnerFor<args::DequantizeMx> dequantize_mx_runner{dequantize_mx_difference};
const RunnerFor<args::DequantizeNvfp4> dequantize_nvfp4_runner{dequantize_nvfp4_difference};
const RunnerFor<args::DequantizeNvfp4Columns> dequantize_nvfp4_columns_runner{
    dequantize_nvfp4_columns_difference};

}  // namespace
}  // namespace diecast::variants
