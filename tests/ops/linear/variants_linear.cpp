// The runners of linear.cu, linear_few.cu and linear_wgmma.cu. On the host sums have the
// reference's bits, on a GPU they are within what tensor cores may be from them.
#include <diecast/launch/tensor_map.h>
#include <diecast/ops/linear/with_map.h>
#include <diecast/ops/reference/linear.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/packed_linear.h>

#include <cmath>
#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

// Numbers of a 16-bit type or f32, as bytes and as what they are.
struct Numbers {
  std::vector<std::uint8_t> bytes;
  std::vector<float> values;

  Numbers(DType dtype, std::int64_t count, double spread, std::mt19937_64& random)
      : bytes(static_cast<std::size_t>(count * dtype_bits(dtype) / 8)) {
    std::normal_distribution<double> normal(0, spread);
    for (std::int64_t i = 0; i < count; ++i) {
      reference::store(bytes.data(), dtype, i, static_cast<float>(normal(random)));
      values.push_back(reference::load(bytes.data(), dtype, i));
    }
  }
};

// Any codes; scales above zero that f16 holds too.
reference::CheckpointWeight drawn_weight(Format format, std::int64_t rows, std::int64_t cols,
                                         std::mt19937_64& random) {
  reference::CheckpointWeight out{format, rows, cols, {}, {}};
  for (std::int64_t i = 0; i < rows * cols / 2; ++i)
    out.codes.push_back(static_cast<std::uint8_t>(random()));
  for (std::int64_t i = 0; i < rows * out.blocks(); ++i)
    out.scales.push_back(static_cast<std::uint8_t>(format == Format::nvfp4 ? 1 + random() % 126
                                                                           : 111 + random() % 25));
  return out;
}

// How far an element may be from the reference: what tensor cores round otherwise than the host,
// carried through the activation. A residual adds nothing to it, however small it makes the sum.
double tolerance(const reference::Linear& of, std::int64_t row, std::int64_t col, bool host) {
  double magnitude = 0;
  for (std::int64_t half = 0; half < (is_gated(of.activation) ? 2 : 1); ++half) {
    double sum = 0;
    for (std::int64_t k = 0; k < of.depth; ++k)
      sum += std::abs(double{of.x[static_cast<std::size_t>(row * of.depth + k)]} *
                      of.weights[static_cast<std::size_t>((col + half * of.cols) * of.depth + k)]);
    magnitude += sum * of.factor;
  }
  const double sums = host ? 0.0 : magnitude * static_cast<double>(of.depth / 16 + 12) * 0x1p-22;
  const double value = std::abs(double{reference::linear_activated(of, row, col)});
  switch (of.activation) {
    case reference::Activation::none:
      return sums;
    case reference::Activation::relu2:
      return 2 * sums * (magnitude + 1);
    case reference::Activation::silu_and_mul:
      return sums * (magnitude + 1) + value * 0x1p-20;
    default:
      return sums * 4 * (of.limit + 1) + value * 0x1p-20 + 0x1p-40;
  }
}

std::string result_difference(const reference::Linear& of, const std::vector<std::uint8_t>& got,
                              DType dtype, bool host) {
  const double step = dtype == DType::bf16 ? 0x1p-7 : dtype == DType::f16 ? 0x1p-10 : 0x1p-22;
  for (std::int64_t at = 0; at < of.rows * of.cols; ++at) {
    const double allowed = tolerance(of, at / of.cols, at % of.cols, host);
    float want = reference::linear_element(of, at / of.cols, at % of.cols);
    reference::store(&want, dtype, 0, want);
    want = reference::load(&want, dtype, 0);
    const double is = reference::load(got.data(), dtype, at);
    const double rounding = allowed == 0 ? 0 : std::abs(double{want}) * step + 0x1p-24;
    if (is == double{want} || std::abs(is - want) <= allowed + rounding) continue;
    return cat("out[", at / of.cols, ", ", at % of.cols, "] is ", std::to_string(is), ", not ",
               std::to_string(want), " +- ", std::to_string(allowed));
  }
  return "";
}

// linear_few takes what linear takes.
std::string launch_plain(Kernel& kernel, const args::Linear& of, const MatrixOfBoxes&,
                         const Bindings& tunes) {
  return launch_and_wait(kernel, of, tunes);
}

std::string launch_wgmma(Kernel& kernel, const args::Linear& of, const MatrixOfBoxes& x,
                         const Bindings& tunes) {
  const auto map = map_boxes(kernel.device(), x);
  return map ? launch_and_wait(kernel, with_map(of, *map), tunes) : map.error().message();
}

template <auto& Launch>
std::string linear_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed * 7 + 3);
  const bool nvfp4 = word_of(s, "FORMAT") == "nvfp4";
  const DType in = dtype_of(s, "IN"), out_type = dtype_of(s, "OUT");
  constexpr std::int64_t kDepths[] = {32, 320, 96, 160};
  reference::Linear of;
  of.rows = one.rows, of.cols = one.cols;
  of.depth = kDepths[one.seed % 4] + (nvfp4 && one.seed % 3 == 0 ? 16 : 0);
  of.split = static_cast<int>(s.number("SPLIT")), of.factor = 0x1.8p-9f;
  of.activation = enum_of<reference::Activation>(s, "ACTIVATION");
  const bool gated = is_gated(of.activation);
  const std::int64_t weight_rows = gated ? 2 * of.cols : of.cols;
  const auto weights =
      drawn_weight(nvfp4 ? Format::nvfp4 : Format::mxfp4, weight_rows, of.depth, random);
  for (std::int64_t i = 0; i < weight_rows * of.depth; ++i)
    of.weights.push_back(weights.value(i / of.depth, i % of.depth));
  const auto tiles = reference::pack_linear(weights, gated ? Gated::halves : Gated::none).bytes;
  const Numbers x(in, of.rows * of.depth, 0.1, random), bias(in, weight_rows, 1, random);
  const Numbers residual(out_type, of.rows * of.cols, 1, random);
  of.x = x.values;
  if (flag(s, "HAS_BIAS")) of.bias = bias.values;
  if (flag(s, "HAS_RESIDUAL")) of.residual = residual.values;
  const DeviceBuffer of_x(device, x.bytes.data(), x.bytes.size());
  const DeviceBuffer of_tiles(device, tiles.data(), tiles.size());
  const DeviceBuffer of_factor(device, &of.factor, sizeof of.factor);
  const DeviceBuffer of_bias(device, bias.bytes.data(), bias.bytes.size());
  const DeviceBuffer of_residual(device, residual.bytes.data(), residual.bytes.size());
  const DeviceBuffer out(device, residual.bytes.size());
  const args::Linear arguments{
      .x = {in, of_x.data_pointer(), of.depth},
      .packed = of_tiles.data_pointer(),
      .factor = of_factor.data_pointer(),
      .bias = {in, of.bias.empty() ? nullptr : of_bias.data_pointer()},
      .residual = {out_type, of.residual.empty() ? nullptr : of_residual.data_pointer()},
      .out = {out_type, out.data_pointer()},
      .rows = of.rows,
      .cols = of.cols,
      .depth = of.depth};
  const MatrixOfBoxes boxes{in, of_x.data_pointer(), of.rows, of.depth, of.depth};
  const std::string problem = Launch(kernel, arguments, boxes, tunes);
  if (!problem.empty()) return problem;
  if (!out.guards_are_whole()) return "wrote outside of out";
  return result_difference(of, out.bytes(), out_type, s.target().is_host());
}

const RunnerFor<args::Linear> linear_runner{linear_difference<launch_plain>};
const RunnerFor<args::LinearFew> few_runner{linear_difference<launch_plain>};
const RunnerFor<args::LinearWgmma> wgmma_runner{linear_difference<launch_wgmma>};

}  // namespace
}  // namespace diecast::variants
