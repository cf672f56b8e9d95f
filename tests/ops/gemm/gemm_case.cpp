// Drawn operands of products; see gemm_case.h.
#include "ops/gemm/gemm_case.h"

#include <cmath>

namespace diecast::variants {

std::int64_t drawn_depth(std::uint64_t seed) {
  static constexpr std::int64_t kBlocks[] = {1, 3, 4, 9, 17, 33};
  return kBlocks[seed % 6] * 16;
}

reference::PackedNvfp4 drawn_operand(std::mt19937_64& random, std::int64_t rows, std::int64_t depth,
                                     bool row_scaled) {
  reference::PackedNvfp4 q;
  q.rows = rows, q.cols = depth, q.row_bytes = depth / 2;
  q.bound = random() % 2 == 0 ? 448 : 256;
  q.row_scaled = row_scaled;
  q.codes.resize(static_cast<std::size_t>(rows * depth / 2));
  q.scales.resize(static_cast<std::size_t>(rows * depth / 16));
  for (auto& byte : q.codes) byte = static_cast<std::uint8_t>(random());
  for (auto& byte : q.scales) {
    byte = static_cast<std::uint8_t>(random() % 0x7F);
    const auto kind = random() % 512;
    if (kind == 0) byte = 0x7F;
    if (kind < 32) byte |= 0x80;
  }
  return q;
}

float drawn_number(std::mt19937_64& random) {
  const auto fraction = static_cast<float>(random() % 1024) / 1024.0f;
  return std::ldexp(1.0f + fraction, static_cast<int>(random() % 20) - 10);
}

std::vector<float> drawn_numbers(std::mt19937_64& random, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& one : out) one = drawn_number(random);
  return out;
}

LaidOutScales::LaidOutScales(const Specialization& s, const reference::PackedNvfp4& q, bool apart) {
  const std::int64_t blocks = q.cols / 16;
  if (word_of(s, "LAYOUT") != "linear") {
    bytes = laid_out(s, q.scales, q.rows, blocks);
    return;
  }
  stride = blocks + (apart ? 3 : 0);
  bytes.assign(static_cast<std::size_t>(q.rows * stride), 0x7F);
  for (std::int64_t i = 0; i < q.rows * blocks; ++i)
    bytes[static_cast<std::size_t>(i / blocks * stride + i % blocks)] =
        q.scales[static_cast<std::size_t>(i)];
}

}  // namespace diecast::variants
