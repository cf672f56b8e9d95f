// Drawn operands of products; see gemm_case.h.
#include "ops/gemm/gemm_case.h"

#include <diecast/ops/reference/numbers.h>

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

reference::GemmNvfp4 drawn_product(const Specialization& s, std::mt19937_64& random,
                                   std::int64_t rows, std::int64_t cols, std::int64_t depth) {
  reference::GemmNvfp4 gemm;
  gemm.a = drawn_operand(random, rows, depth, flag(s, "A_ROW_SCALE"));
  gemm.b = drawn_operand(random, cols, depth, flag(s, "B_ROW_SCALE"));
  gemm.a_amax = drawn_numbers(random, gemm.a.row_scaled ? rows : 1);
  gemm.b_amax = drawn_numbers(random, gemm.b.row_scaled ? cols : 1);
  gemm.accumulate = flag(s, "ACCUMULATE");
  return gemm;
}

void add_bias(reference::GemmNvfp4& gemm, std::mt19937_64& random, DType dtype,
              std::vector<std::uint8_t>& bytes) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + static_cast<std::size_t>(gemm.b.rows * dtype_bits(dtype) / 8));
  for (std::int64_t col = 0; col < gemm.b.rows; ++col) {
    reference::store(bytes.data() + begin, dtype, col, drawn_number(random));
    gemm.bias.push_back(reference::load(bytes.data() + begin, dtype, col));
  }
}

std::vector<std::uint8_t> drawn_out(std::mt19937_64& random, std::int64_t elements, DType dtype,
                                    bool accumulate) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(elements * dtype_bits(dtype) / 8),
                                DeviceBuffer::kPoison);
  for (std::int64_t i = 0; accumulate && i < elements; ++i)
    reference::store(out.data(), dtype, i, drawn_number(random));
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
