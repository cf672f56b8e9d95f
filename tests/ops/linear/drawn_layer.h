// A drawn weight with drawn rows of x, for tests of linear layers on a GPU.
#pragma once

#include <diecast/ops/reference/packed_linear.h>

#include <cstdint>
#include <random>
#include <vector>

namespace diecast {

struct DrawnLayer {
  reference::CheckpointWeight weight;
  std::vector<std::uint8_t> packed;
  std::vector<std::uint16_t> x;  // of bf16

  DrawnLayer(Format format, std::int64_t cols, std::int64_t depth, std::int64_t rows,
             std::uint64_t seed = 0) {
    std::mt19937_64 random(static_cast<std::uint64_t>(cols + depth) + seed);
    weight = {format, cols, depth, {}, {}};
    weight.codes.resize(static_cast<std::size_t>(cols * depth / 2));
    weight.scales.resize(static_cast<std::size_t>(cols * weight.blocks()));
    for (auto& codes : weight.codes) codes = static_cast<std::uint8_t>(random());
    for (auto& scale : weight.scales)
      scale = static_cast<std::uint8_t>(format == Format::nvfp4 ? 1 + random() % 126
                                                                : 111 + random() % 25);
    packed = reference::pack_linear(weight, Gated::none).bytes;
    // Magnitudes from 2^-15 to 2^16, either sign.
    for (std::int64_t i = 0; i < rows * depth; ++i)
      x.push_back(static_cast<std::uint16_t>((random() & 0x807F) | (112 + random() % 32) << 7));
  }
};

}  // namespace diecast
