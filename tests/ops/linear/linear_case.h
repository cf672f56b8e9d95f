// What the runners of linear layers share: drawn operands, and how far a row may be from the
// reference.
#pragma once

#include <diecast/base/text.h>
#include <diecast/launch/tensor_map.h>
#include <diecast/ops/linear/linear_launch.h>
#include <diecast/ops/reference/linear.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/packed_linear.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ops/variant_case.h"

namespace diecast::variants {

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

// The columns of out of a case: of gate and up, whose rows alternate by eight, whole eights.
inline std::int64_t columns_of(const Case& one, bool gated) {
  return gated ? ceil_div(one.cols, 8) * 8 : one.cols;
}

// Packed tiles of NVFP4, without the weights that they are of: any codes, scales from 2^-3 to 2^3.
std::vector<std::uint8_t> drawn_tiles(std::int64_t count, std::mt19937_64& random);

// Any codes; scales above zero that f16 holds too.
reference::CheckpointWeight drawn_weight(Format format, std::int64_t rows, std::int64_t cols,
                                         std::mt19937_64& random);

// Empty where row `row` of `got`, [of.rows, of.cols] of dtype, is the reference's: on the host to
// the bit, on a GPU within what tensor cores may be from it.
std::string row_difference(const reference::Linear& of, std::int64_t row,
                           const std::vector<std::uint8_t>& got, DType dtype, bool host);

// Mapped: the kernel finds x by a map of its boxes.
template <bool Mapped, class Arguments>
std::string launch_linear(Kernel& kernel, const Arguments& of, const MatrixOfBoxes& x,
                          const Bindings& tunes) {
  if constexpr (Mapped) {
    const auto map = map_boxes(kernel.device(), x);
    return map ? launch_and_wait(kernel, with_map(of, *map), tunes) : map.error().message();
  } else {
    return launch_and_wait(kernel, of, tunes);
  }
}

}  // namespace diecast::variants
