// Drawn weights of linear layers, and a row of a result beside the reference's.
#include "ops/linear/linear_case.h"

#include <cmath>

namespace diecast::variants {
namespace {

// How far an element may be from the reference: what tensor cores round otherwise than the host,
// carried through the activation. A residual adds nothing to it, however small it makes the sum.
double tolerance(const reference::Linear& of, std::int64_t row, std::int64_t col, bool host) {
  double magnitude = 0;
  for (std::int64_t half = 0; half < (is_gated(of.activation) ? 2 : 1); ++half) {
    double sum = 0;
    for (std::int64_t k = 0; k < of.depth; ++k)
      sum += std::abs(double{of.x[static_cast<std::size_t>(row * of.depth + k)]} *
                      of.weights[static_cast<std::size_t>((col + half * of.cols) * of.depth + k)]);
    magnitude += sum * std::abs(double{reference::linear_factor(of, col + half * of.cols)});
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

}  // namespace

std::vector<std::uint8_t> drawn_tiles(std::int64_t count, std::mt19937_64& random) {
  constexpr std::size_t kTile = 2304, kCodes = 2048;
  std::vector<std::uint8_t> tiles(static_cast<std::size_t>(count) * kTile);
  for (std::size_t at = 0; at < tiles.size(); ++at)
    tiles[at] = static_cast<std::uint8_t>(at % kTile < kCodes ? random() : 152 + random() % 48);
  return tiles;
}

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

std::string row_difference(const reference::Linear& of, std::int64_t row,
                           const std::vector<std::uint8_t>& got, DType dtype, bool host) {
  const double step = dtype == DType::bf16 ? 0x1p-7 : dtype == DType::f16 ? 0x1p-10 : 0x1p-22;
  for (std::int64_t col = 0; col < of.cols; ++col) {
    const double allowed = tolerance(of, row, col, host);
    float want = reference::linear_element(of, row, col);
    reference::store(&want, dtype, 0, want);
    want = reference::load(&want, dtype, 0);
    const double is = reference::load(got.data(), dtype, row * of.cols + col);
    const double rounding = allowed == 0 ? 0 : std::abs(double{want}) * step + 0x1p-24;
    if (is == double{want} || std::abs(is - want) <= allowed + rounding) continue;
    return cat("out[", row, ", ", col, "] is ", std::to_string(is), ", not ", std::to_string(want),
               " +- ", std::to_string(allowed));
  }
  return "";
}

}  // namespace diecast::variants
