// Runners of unpack_product and gemm_nvfp4_wgmma, of the operands that gemm_nvfp4 has.
#include <diecast/ops/reference/numbers.h>

#include <cmath>
#include <cstring>

#include "ops/gemm/gemm_case.h"

namespace diecast::variants {
namespace {
using reference::GemmNvfp4;
using reference::PackedNvfp4;
using Octets = std::vector<std::uint8_t>;

constexpr std::int64_t kSide = 128, kDepth = 64, kTileBytes = kSide * kDepth * 2;

// Element (row, col), as the code times its block's scale; a bf16 holds it.
std::uint16_t number(const PackedNvfp4& q, std::int64_t row, std::int64_t col) {
  const auto at = static_cast<std::size_t>(row * q.row_bytes + col / 2);
  const auto code = static_cast<std::uint8_t>(q.codes[at] >> (4 * (col % 2)) & 15);
  const std::uint8_t scale = q.scales[static_cast<std::size_t>(row * (q.cols / 16) + col / 16)];
  const float value = reference::decode_e2m1(code) * reference::decode_e4m3(scale);
  if (std::isnan(value)) return 0x7FFF;
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

void append_tiles(Octets& to, const PackedNvfp4& q) {
  for (std::int64_t row = 0; row < q.rows; row += kSide) {
    for (std::int64_t col = 0; col < q.cols; col += kDepth) {
      const std::size_t begin = to.size();
      to.resize(begin + kTileBytes);
      for (std::int64_t r = 0; r < std::min(kSide, q.rows - row); ++r) {
        for (std::int64_t c = 0; c < std::min(kDepth, q.cols - col); ++c) {
          const std::uint16_t value = number(q, row + r, col + c);
          const std::int64_t piece = (c / 8) ^ (r % 8);
          const auto at = begin + static_cast<std::size_t>(r * 128 + piece * 16 + c % 8 * 2);
          std::memcpy(to.data() + at, &value, sizeof value);
        }
      }
    }
  }
}

Octets tiles_of(const PackedNvfp4& a, const PackedNvfp4& b) {
  Octets out;
  append_tiles(out, a), append_tiles(out, b);
  return out;
}

std::string unpack_product_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed * 29 + 3);
  const std::int64_t depth = drawn_depth(one.seed);
  const PackedNvfp4 a = drawn_operand(random, one.rows, depth, false);
  const PackedNvfp4 b = drawn_operand(random, one.cols, depth, false);
  const LaidOutScales a_scales(s, a, random() % 2 == 0), b_scales(s, b, random() % 2 == 0);
  const Octets want = tiles_of(a, b);
  const auto placed = [&](const Octets& bytes) {
    return DeviceBuffer(device, bytes.data(), bytes.size());
  };
  const DeviceBuffer of_a = placed(a.codes), of_b = placed(b.codes);
  const DeviceBuffer scales_a = placed(a_scales.bytes), scales_b = placed(b_scales.bytes);
  const DeviceBuffer numbers(device, want.size());
  const args::UnpackProduct arguments{.a_codes = of_a.data_pointer(),
                                      .a_scales = {scales_a.data_pointer(), a_scales.stride},
                                      .b_codes = of_b.data_pointer(),
                                      .b_scales = {scales_b.data_pointer(), b_scales.stride},
                                      .numbers = numbers.data_pointer(),
                                      .rows = one.rows,
                                      .cols = one.cols,
                                      .depth = depth};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("numbers", numbers, want.data(), want.size()) : problem;
}

std::string gemm_nvfp4_wgmma_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed * 31 + 11);
  const DType dtype = dtype_of(s, "OUT"), bias_dtype = dtype_of(s, "BIAS_TYPE");
  const std::int64_t depth = drawn_depth(one.seed);
  GemmNvfp4 gemm = drawn_product(s, random, one.rows, one.cols, depth);
  gemm.alpha = random() % 2 == 0 ? 1.0f : 0.3f;
  Octets want = drawn_out(random, one.rows * one.cols, dtype, gemm.accumulate);
  Octets bias;
  if (flag(s, "BIAS")) add_bias(gemm, random, bias_dtype, bias);
  const DeviceBuffer out(device, want.data(), want.size());
  reference::gemm_nvfp4(gemm, want.data(), dtype);
  const Octets tiles = tiles_of(gemm.a, gemm.b);
  const DeviceBuffer numbers(device, tiles.data(), tiles.size());
  const DeviceBuffer on_bias(device, bias.data(), bias.size());
  const DeviceBuffer a_amax(device, gemm.a_amax.data(), gemm.a_amax.size() * sizeof(float));
  const DeviceBuffer b_amax(device, gemm.b_amax.data(), gemm.b_amax.size() * sizeof(float));
  const args::GemmNvfp4Wgmma arguments{
      .numbers = numbers.data_pointer(),
      .a_amax = a_amax.data_pointer(),
      .b_amax = b_amax.data_pointer(),
      .bias = {bias_dtype, bias.empty() ? nullptr : on_bias.data_pointer()},
      .out = {dtype, out.data_pointer()},
      .rows = one.rows,
      .cols = one.cols,
      .depth = depth,
      .alpha = gemm.alpha,
      .unit = 1.0f / static_cast<float>(36 * gemm.a.bound * gemm.b.bound)};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.data(), want.size()) : problem;
}

const RunnerFor<args::UnpackProduct> unpack_product_runner{unpack_product_difference};
const RunnerFor<args::GemmNvfp4Wgmma> gemm_nvfp4_wgmma_runner{gemm_nvfp4_wgmma_difference};

}  // namespace
}  // namespace diecast::variants
