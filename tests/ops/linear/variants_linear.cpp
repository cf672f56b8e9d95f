// The runners of linear.cu, linear_few.cu and linear_wgmma.cu. On the host sums have the
// reference's bits, on a GPU they are within what tensor cores may be from them.
#include <algorithm>

#include "ops/linear/linear_case.h"

namespace diecast::variants {
namespace {

template <bool Mapped>
std::string linear_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed * 7 + 3);
  const bool nvfp4 = word_of(s, "FORMAT") == "nvfp4";
  const DType in = dtype_of(s, "IN"), out_type = dtype_of(s, "OUT");
  constexpr std::int64_t kDepths[] = {32, 320, 96, 160};
  reference::Linear of;
  of.rows = one.rows;
  of.depth = kDepths[one.seed % 4] + (nvfp4 && one.seed % 3 == 0 ? 16 : 0);
  of.split = static_cast<int>(s.number("SPLIT"));
  of.activation = enum_of<reference::Activation>(s, "ACTIVATION");
  const bool gated = is_gated(of.activation);
  of.cols = columns_of(one, gated);
  const std::int64_t weight_rows = gated ? 2 * of.cols : of.cols;
  const auto weights =
      drawn_weight(nvfp4 ? Format::nvfp4 : Format::mxfp4, weight_rows, of.depth, random);
  for (std::int64_t i = 0; i < weight_rows * of.depth; ++i)
    of.weights.push_back(weights.value(i / of.depth, i % of.depth));
  const auto tiles = reference::pack_linear(weights, gated ? Gated::halves : Gated::none).bytes;
  const Numbers x(in, of.rows * of.depth, 0.1, random), bias(in, weight_rows, 1, random);
  const Numbers residual(out_type, of.rows * of.cols, 1, random);
  of.x = x.values;
  // Rows that do not count are NaN.
  const std::int64_t all_rows = of.rows + (one.device_rows ? kSpareRows : 0);
  std::vector<std::uint8_t> x_bytes = x.bytes, residual_bytes = residual.bytes;
  x_bytes.resize(static_cast<std::size_t>(all_rows * of.depth * 2), 0xFF);
  const std::size_t spare = spare_bytes(one, residual.bytes.size());
  residual_bytes.resize(residual_bytes.size() + spare, 0xFF);
  const bool parts = word_of(s, "FACTORS") == "parts";
  Numbers factors(DType::f32, parts ? gated ? 2 : of.cols : 1, 0.01, random);
  of.factor = factors.values[0];
  if (parts && gated) of.second_factor = factors.values[1];
  if (parts && !gated) of.row_factors = factors.values;
  if (flag(s, "HAS_BIAS")) of.bias = bias.values;
  if (flag(s, "HAS_RESIDUAL")) of.residual = residual.values;
  const DeviceBuffer of_x(device, x_bytes.data(), x_bytes.size());
  const DeviceBuffer of_tiles(device, tiles.data(), tiles.size());
  const DeviceBuffer of_factor(device, factors.bytes.data(), factors.bytes.size());
  const DeviceBuffer of_bias(device, bias.bytes.data(), bias.bytes.size());
  const DeviceBuffer of_residual(device, residual_bytes.data(), residual_bytes.size());
  const DeviceBuffer out(device, residual_bytes.size());
  const Rows rows = rows_of(device, one);
  const args::Linear arguments{
      .x = {in, of_x.data_pointer(), of.depth},
      .packed = of_tiles.data_pointer(),
      .factor = of_factor.data_pointer(),
      .bias = {in, of.bias.empty() ? nullptr : of_bias.data_pointer()},
      .residual = {out_type, flag(s, "HAS_RESIDUAL") ? of_residual.data_pointer() : nullptr},
      .out = {out_type, out.data_pointer()},
      .rows = rows.argument,
      .cols = of.cols,
      .depth = of.depth,
      .settled = one.seed % 2 == 0 ? 1 : 0};  // nothing is written while it runs
  const MatrixOfBoxes boxes{in, of_x.data_pointer(), all_rows, of.depth, of.depth};
  const std::string problem = launch_linear<Mapped>(kernel, arguments, boxes, tunes);
  if (!problem.empty()) return problem;
  if (!out.guards_are_whole()) return "wrote outside of out";
  const std::vector<std::uint8_t> got = out.bytes();
  if (!std::all_of(got.end() - static_cast<std::ptrdiff_t>(spare), got.end(),
                   [](auto byte) { return byte == DeviceBuffer::kPoison; }))
    return "wrote rows that do not count";
  for (std::int64_t row = 0; row < of.rows; ++row) {
    const std::string differs = row_difference(of, row, got, out_type, s.target().is_host());
    if (!differs.empty()) return differs;
  }
  return "";
}

const RunnerFor<args::Linear> linear_runner{linear_difference<false>};
const RunnerFor<args::LinearFew> few_runner{linear_difference<false>};
const RunnerFor<args::LinearWgmma> wgmma_runner{linear_difference<true>};

}  // namespace
}  // namespace diecast::variants
