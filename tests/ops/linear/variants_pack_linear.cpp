// Runners of pack_linear and unpack_linear.
#include <diecast/ops/reference/packed_linear.h>

#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

using reference::CheckpointWeight;

// The weights' upper halves, or their lower ones, as a tensor of their own.
std::vector<std::uint8_t> halves_of(const std::vector<std::uint8_t>& all, std::int64_t weights,
                                    bool lower) {
  std::vector<std::uint8_t> out;
  const auto half =
      static_cast<std::ptrdiff_t>(all.size()) / std::max<std::int64_t>(2 * weights, 1);
  for (std::int64_t i = 0; i < weights; ++i) {
    const auto from = all.begin() + (2 * i + (lower ? 1 : 0)) * half;
    out.insert(out.end(), from, from + half);
  }
  return out;
}

// Any codes. Scales: any, of MXFP4 most of them near one; blocks of zeros.
CheckpointWeight weight_of(Format format, const Case& one, Gated gated, std::uint64_t seed) {
  std::mt19937_64 random(one.seed * 977 + seed);
  const std::int64_t rows = gated == Gated::none ? one.rows : (one.rows + 15) / 16 * 16;
  CheckpointWeight out{format, rows, one.cols, {}, {}};
  out.codes.resize(static_cast<std::size_t>(rows * one.cols / 2));
  out.scales.resize(static_cast<std::size_t>(rows * out.blocks()));
  for (auto& byte : out.codes) byte = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i < out.scales.size(); ++i) {
    const std::uint64_t drawn = random();
    const bool near = format == Format::mxfp4 && drawn % 8 != 0;
    out.scales[i] = static_cast<std::uint8_t>(near ? 111 + drawn / 8 % 25 : drawn >> 8);
    const std::size_t bytes = block_of(format) / 2;
    if (drawn >> 32 & 1)
      for (std::size_t b = i * bytes; b < (i + 1) * bytes; ++b) out.codes[b] &= 0x88;
  }
  return out;
}

struct Weights {
  std::int64_t count = 0, rows = 0;
  std::vector<std::uint8_t> codes, scales, packed, codes_back, scales_back;
  std::array<std::uint32_t, 4> status{0, 0, 0xFFFFFFFF, 0xFFFFFFFF};
};
void append(std::vector<std::uint8_t>& to, const std::vector<std::uint8_t>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Weights weights_of(const Specialization& s, const Case& one) {
  const Format format = word_of(s, "FORMAT") == "nvfp4" ? Format::nvfp4 : Format::mxfp4;
  const bool apart = word_of(s, "GATED") == "apart";
  const auto gated = apart ? Gated::halves : enum_of<Gated>(s, "GATED");
  Weights out;
  out.count = static_cast<std::int64_t>(one.seed % 3);
  for (std::int64_t i = 0; i < out.count; ++i) {
    const CheckpointWeight weight = weight_of(format, one, gated, static_cast<std::uint64_t>(i));
    const auto packed = reference::pack_linear(weight, gated);
    const CheckpointWeight back = reference::unpacked(weight);
    out.rows = weight.rows;
    append(out.codes, weight.codes), append(out.scales, weight.scales);
    append(out.packed, packed.bytes);
    append(out.codes_back, back.codes);
    // A scale that is too large comes back as the largest there is.
    for (const std::uint8_t scale : back.scales)
      out.scales_back.push_back(format == Format::mxfp4 && scale > 135 && scale < 255 ? 135
                                                                                      : scale);
    for (std::size_t at = 0; at < 4; ++at)
      out.status[at] =
          at < 2 ? out.status[at] + packed.status[at] : std::min(out.status[at], packed.status[at]);
  }
  return out;
}

std::string pack_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const Weights weights = weights_of(s, one);
  const bool counts = flag(s, "HAS_STATUS"), apart = word_of(s, "GATED") == "apart";
  const auto tensor_of = [&](const std::vector<std::uint8_t>& all, bool up) {
    const auto bytes = apart ? halves_of(all, weights.count, up) : all;
    return DeviceBuffer(device, bytes.data(), bytes.size());
  };
  const DeviceBuffer codes = tensor_of(weights.codes, false),
                     scales = tensor_of(weights.scales, false);
  const DeviceBuffer up_codes = tensor_of(weights.codes, true),
                     up_scales = tensor_of(weights.scales, true);
  DeviceBuffer packed(device, weights.packed.size());
  const std::uint32_t none[4] = {0, 0, 0xFFFFFFFF, 0xFFFFFFFF};
  DeviceBuffer status(device, none, sizeof none);
  const args::PackLinear arguments{.codes = codes.data_pointer(),
                                   .scales = scales.data_pointer(),
                                   .up_codes = apart ? up_codes.data_pointer() : nullptr,
                                   .up_scales = apart ? up_scales.data_pointer() : nullptr,
                                   .packed = packed.data_pointer(),
                                   .status = counts ? status.data_pointer() : nullptr,
                                   .batch = weights.count,
                                   .rows = weights.rows,
                                   .cols = one.cols};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty())
    problem = compare("packed", packed, weights.packed.data(), weights.packed.size());
  if (problem.empty() && counts)
    problem = compare("status", status, weights.status.data(), sizeof none);
  return problem;
}

std::string unpack_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  Device& device = kernel.device();
  const Weights weights = weights_of(kernel.specialization(), one);
  DeviceBuffer packed(device, weights.packed.data(), weights.packed.size());
  DeviceBuffer codes(device, weights.codes.size()), scales(device, weights.scales.size());
  const args::UnpackLinear arguments{.packed = packed.data_pointer(),
                                     .codes = codes.data_pointer(),
                                     .scales = scales.data_pointer(),
                                     .batch = weights.count,
                                     .rows = weights.rows,
                                     .cols = one.cols};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty())
    problem = compare("codes", codes, weights.codes_back.data(), weights.codes.size());
  if (problem.empty())
    problem = compare("scales", scales, weights.scales_back.data(), weights.scales.size());
  return problem;
}

const RunnerFor<args::PackLinear> pack_runner{pack_difference};
const RunnerFor<args::UnpackLinear> unpack_runner{unpack_difference};

}  // namespace
}  // namespace diecast::variants
