// Runners of amax, transpose_codes and arrange_scales.
#include <diecast/ops/reference/tiles.h>

#include <limits>
#include <random>
#include <utility>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {
reference::Bytes random_bytes(std::int64_t count, std::uint64_t seed, unsigned mask) {
  std::mt19937_64 random(seed);
  reference::Bytes bytes(static_cast<std::size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() & mask);
  return bytes;
}

// Scales as a layout has them; rows of linear ones `gap` bytes apart, poison between.
reference::Bytes apart(const reference::Bytes& scales, ScaleLayout layout, std::int64_t rows,
                       std::int64_t cols, std::int64_t gap) {
  if (layout != ScaleLayout::linear) return reference::laid_out(scales, layout, rows, cols);
  reference::Bytes out;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    out.push_back(scales[static_cast<std::size_t>(i)]);
    if (i % cols == cols - 1) out.resize(out.size() + gap, DeviceBuffer::kPoison);
  }
  return out;
}

std::string amax_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  const auto per = enum_of<AmaxPer>(s, "PER");
  const auto want = reference::amax_per(
      x.on_host(), per, enum_of<AmaxNans>(s, "NANS"), enum_of<AmaxTransform>(s, "RHT"),
      static_cast<unsigned>(s.number("SIGN_MASK")), static_cast<int>(s.number("BLOCK")));
  const std::size_t bytes = want.size() * sizeof(float);
  DeviceBuffer amax(device, bytes);
  if (per != AmaxPer::block && per != AmaxPer::tile) {
    device.fill(amax.data_pointer(), 0, bytes, {}).value();
  }
  const Rows rows = rows_of(device, one);
  const args::Amax arguments{
      .x = x.argument(), .amax = amax.data_pointer(), .rows = rows.argument, .cols = one.cols};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("amax", amax, want.data(), bytes) : problem;
}

std::string zeros_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const std::vector<float> want(static_cast<std::size_t>(one.cols), 0.0f);
  DeviceBuffer values(kernel.device(), want.size() * sizeof(float));
  const args::Zeros arguments{.values = values.data_pointer(), .count = one.cols};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("values", values, want.data(), want.size() * 4) : problem;
}

std::string transpose_codes_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const auto pad = static_cast<int>(s.number("PAD"));
  const bool whole = flag(s, "ALIGNED");
  if (whole && pad == 2 && (one.rows % 8 != 0 || one.cols % 8 != 0)) return "";
  // What pads a row holds anything, and an odd address is any address.
  const std::int64_t bytes = one.rows * ((one.cols + pad - 1) / pad * pad / 2);
  const std::size_t past = whole ? 0 : 1;
  const auto codes = random_bytes(bytes, one.seed, 0xFF);
  const auto want = reference::transpose_codes(codes, one.rows, one.cols, pad);
  DeviceBuffer from(device, codes.size() + past), to(device, want.size());
  device.copy_to_device(from.data_pointer() + past, codes.data(), codes.size(), {}).value();
  const args::TransposeCodes arguments{.codes = from.data_pointer() + past,
                                       .transposed = to.data_pointer(),
                                       .rows = one.rows,
                                       .cols = one.cols};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("transposed", to, want.data(), want.size()) : problem;
}

// Of two all-zero halves, of halves that have no common scale, and of ordinary ones.
std::pair<float, float> decode_scales(std::uint64_t which, std::int64_t rows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float plain = 1.0f / static_cast<float>(3 + rows);
  const std::pair<float, float> all[] = {{plain, plain}, {plain, 0.5f},          {0, 0},
                                         {plain, 0.25f}, {kInfinity, kInfinity}, {1, 0},
                                         {1, -1}};
  return all[which % std::size(all)];
}

std::string arrange_scales_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const auto from_layout = enum_of<ScaleLayout>(s, "FROM"),
             to_layout = enum_of<ScaleLayout>(s, "TO");
  const std::int64_t batch = static_cast<std::int64_t>(one.seed % 4);
  const std::int64_t new_rows =
      flag(s, "TILES") ? one.cols * 16 - static_cast<int>(one.seed % 16) : one.rows;
  reference::Bytes old_bytes, want;
  std::vector<float> old_decode, new_decode;
  // Rows of linear scales are apart where the case's are; what lies between is poison.
  const std::int64_t gap = one.strided ? 3 + static_cast<int>(one.seed % 2) : 0;
  const std::int64_t new_blocks = flag(s, "TILES") ? (one.rows + 15) / 16 : one.cols;
  for (std::int64_t i = 0; i < batch; ++i) {
    reference::Bytes scales = random_bytes(one.rows * one.cols, one.seed * 31 + i, 0x7F);
    const auto old_one = apart(scales, from_layout, one.rows, one.cols, gap);
    old_bytes.insert(old_bytes.end(), old_one.begin(), old_one.end());
    const auto [was_decode, now_decode] = decode_scales(one.seed / 4 + i, one.rows);
    old_decode.push_back(was_decode);
    new_decode.push_back(now_decode);
    if (flag(s, "TILES")) {
      scales = reference::transpose_tile_scales(scales, one.rows, one.cols, new_rows);
    }
    if (flag(s, "RESCALE")) {
      for (auto& byte : scales) byte = reference::rescaled(byte, old_decode[i], new_decode[i]);
    }
    const auto new_one = apart(scales, to_layout, new_rows, new_blocks, gap);
    want.insert(want.end(), new_one.begin(), new_one.end());
  }
  const bool rescale = flag(s, "RESCALE");
  const std::size_t decode_bytes = rescale ? old_decode.size() * sizeof(float) : 0;
  DeviceBuffer from(device, old_bytes.data(), old_bytes.size()), to(device, want.size());
  DeviceBuffer was(device, old_decode.data(), decode_bytes),
      now(device, new_decode.data(), decode_bytes);
  const auto stride = [&](ScaleLayout layout, std::int64_t cols) {
    return gap == 0 || layout != ScaleLayout::linear ? 0 : cols + gap;
  };
  const args::ArrangeScales arguments{
      .scales = {from.data_pointer(), stride(from_layout, one.cols)},
      .old_decode = was.data_pointer(),
      .new_decode = now.data_pointer(),
      .arranged = {to.data_pointer(), stride(to_layout, new_blocks)},
      .batch = batch,
      .rows = one.rows,
      .cols = one.cols,
      .new_rows = new_rows};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("arranged", to, want.data(), want.size()) : problem;
}

const RunnerFor<args::Amax> amax_runner{amax_difference};
const RunnerFor<args::ArrangeScales> arrange_scales_runner{arrange_scales_difference};
const RunnerFor<args::TransposeCodes> transpose_codes_runner{transpose_codes_difference};
const RunnerFor<args::Zeros> zeros_runner{zeros_difference};

}  // namespace
}  // namespace diecast::variants
