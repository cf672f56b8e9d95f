// The runners of linear_experts.cu, linear_experts_few.cu and linear_experts_wgmma.cu: rows of each
// expert against the dense reference with its weight, every other row of out untouched, every row
// of x that belongs to none poisoned with NaN.
#include <algorithm>

#include "ops/linear/linear_case.h"
#include "ops/linear/routed.h"

namespace diecast::variants {
namespace {

// Offsets that begin below 0 and end beyond the rows, or leave rows out at both ends.
Routed contiguous(std::int64_t rows, std::uint64_t seed) {
  const auto n = static_cast<std::int32_t>(rows);
  Routed out;
  out.routing = seed % 2 != 0 ? std::vector<std::int32_t>{-5, n / 4, n - n / 8, n - n / 8, n + 9}
                              : std::vector<std::int32_t>{n / 8, n / 8, n - 1, n - 1, n - 1};
  for (std::int32_t row = 0; row < n; ++row) {
    out.owner.push_back(kNobody);
    for (std::size_t expert = 0; expert < kExperts; ++expert)
      if (row >= out.routing[expert] && row < out.routing[expert + 1])
        out.owner.back() = static_cast<std::int64_t>(expert);
  }
  return out;
}

Routed masked(std::int64_t rows, std::uint64_t seed) {
  const auto each = static_cast<std::int32_t>(rows / kExperts);
  Routed out;
  out.routing = seed % 2 != 0 ? std::vector<std::int32_t>{each / 2, each + 7, 0, -3}
                              : std::vector<std::int32_t>{std::min(each, 1), each, -1, each / 3};
  for (std::int32_t row = 0; row < each * kExperts; ++row) {
    const std::int32_t expert = row / each;
    const bool counts = row % each < out.routing[static_cast<std::size_t>(expert)];
    out.owner.push_back(counts ? expert : kNobody);
  }
  return out;
}

struct Experts {
  DType in, out;
  bool gated, host;
  std::int64_t fan_out = 1, depth = 0;
  Routed routed;
  std::vector<reference::Linear> of;  // one an expert, each of all rows of out
  std::vector<std::uint8_t> x, tiles, bias;
  std::vector<float> factors;

  std::int64_t rows() const { return static_cast<std::int64_t>(routed.owner.size()); }

  // x as the launch and the references have it.
  void draw_x(std::mt19937_64& random) {
    Numbers drawn(in, rows() / fan_out * depth, 0.1, random);
    for (std::int64_t row = 0; row < rows() / fan_out; ++row) {
      const auto first = routed.owner.begin() + row * fan_out;
      if (std::any_of(first, first + fan_out, [](auto expert) { return expert != kNobody; }))
        continue;
      std::fill_n(drawn.bytes.begin() + row * depth * 2, depth * 2, std::uint8_t{0xFF});
    }
    x = std::move(drawn.bytes);
    for (reference::Linear& one : of)
      for (std::int64_t row = 0; row < rows(); ++row)
        one.x.insert(one.x.end(), drawn.values.begin() + row / fan_out * depth,
                     drawn.values.begin() + (row / fan_out + 1) * depth);
  }
  void draw_expert(Format format, const reference::Linear& plain, bool has_bias,
                   std::mt19937_64& random) {
    reference::Linear& one = of.emplace_back(plain);
    const std::int64_t weight_rows = gated ? 2 * one.cols : one.cols;
    const auto weight = drawn_weight(format, weight_rows, depth, random);
    for (std::int64_t i = 0; i < weight_rows * depth; ++i)
      one.weights.push_back(weight.value(i / depth, i % depth));
    const auto packed = reference::pack_linear(weight, gated ? Gated::halves : Gated::none).bytes;
    tiles.insert(tiles.end(), packed.begin(), packed.end());
    one.factor = static_cast<float>(1 + random() % 8) * 0x1p-11f;
    factors.push_back(one.factor);
    if (gated) factors.push_back(*(one.second_factor = 0.75f * one.factor));
    const Numbers of_bias(in, weight_rows, 1, random);
    bias.insert(bias.end(), of_bias.bytes.begin(), of_bias.bytes.end());
    if (has_bias) one.bias = of_bias.values;
  }
  std::string difference(const std::vector<std::uint8_t>& got) const {
    const std::int64_t row_bytes = of.front().cols * dtype_bits(out) / 8;
    for (std::int64_t row = 0; row < rows(); ++row) {
      const std::int64_t owner = routed.owner[static_cast<std::size_t>(row)];
      const auto first = got.begin() + row * row_bytes;
      const bool poison = std::all_of(first, first + row_bytes,
                                      [](auto byte) { return byte == DeviceBuffer::kPoison; });
      if (owner == kNobody && !poison) return cat("row ", row, ", of no expert, was written");
      if (owner == kNobody) continue;
      const std::string differs =
          row_difference(of[static_cast<std::size_t>(owner)], row, got, out, host);
      if (!differs.empty()) return cat("expert ", owner, ": ", differs);
    }
    return "";
  }
};

Experts drawn_experts(const Specialization& s, const Case& one) {
  std::mt19937_64 random(one.seed * 5 + 1);
  Experts out{};
  out.in = dtype_of(s, "IN"), out.out = dtype_of(s, "OUT");
  const std::string form = word_of(s, "FORM");
  if (form == "indexed" && one.rows > 0 && one.rows % 3 == 0) out.fan_out = 3;
  out.routed = form == "indexed"      ? indexed(one.rows, random)
               : form == "contiguous" ? contiguous(one.rows, one.seed)
                                      : masked(ceil_div(one.rows, kExperts) * kExperts, one.seed);
  if (form == "indexed" && flag(s, "HAS_EXPERT_MAP")) map_ids(out.routed, random);
  constexpr std::int64_t kDepths[] = {32, 320, 96, 160};
  out.depth = kDepths[one.seed % 4], out.host = s.target().is_host();
  reference::Linear plain;
  plain.rows = out.rows(), plain.depth = out.depth;
  plain.split = static_cast<int>(s.number("SPLIT"));
  plain.activation = enum_of<reference::Activation>(s, "ACTIVATION");
  out.gated = is_gated(plain.activation);
  plain.cols = columns_of(one, out.gated);
  const Format format = word_of(s, "FORMAT") == "nvfp4" ? Format::nvfp4 : Format::mxfp4;
  for (std::int64_t i = 0; i < kExperts; ++i)
    out.draw_expert(format, plain, flag(s, "HAS_BIAS"), random);
  out.draw_x(random);
  return out;
}

template <bool Mapped>
std::string experts_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const Experts of = drawn_experts(s, one);
  const DeviceBuffer x(device, of.x.data(), of.x.size());
  const DeviceBuffer tiles(device, of.tiles.data(), of.tiles.size());
  const DeviceBuffer factors(device, of.factors.data(), of.factors.size() * 4);
  const DType id = dtype_of(s, "ID");
  const std::vector<std::int64_t> numbers = routing_numbers(of.routed, id);
  const std::vector<std::uint8_t> ids = bytes_of(numbers, id);
  const DeviceBuffer routing(device, ids.data(), ids.size());
  const std::vector<std::int32_t>& map = of.routed.map;
  const DeviceBuffer of_map(device, map.data(), map.size() * 4);
  const bool counts = word_of(s, "FORM") == "indexed" && flag(s, "HAS_UNEXPECTED");
  const UnexpectedWord unexpected(device, of.routed, numbers);
  const DeviceBuffer bias(device, of.bias.data(), of.bias.size());
  const std::int64_t cols = of.of.front().cols, elements = of.rows() * cols;
  const DeviceBuffer out(device, static_cast<std::size_t>(elements * dtype_bits(of.out) / 8));
  const args::LinearExperts arguments{
      .x = {of.in, x.data_pointer(), of.depth},
      .packed = tiles.data_pointer(),
      .factor = factors.data_pointer(),
      .routing = {id, routing.data_pointer()},
      .bias = {of.in, flag(s, "HAS_BIAS") ? bias.data_pointer() : nullptr},
      .out = {of.out, out.data_pointer()},
      .rows = of.rows(),
      .cols = cols,
      .depth = of.depth,
      .experts = kExperts,
      .fan_out = of.fan_out,
      .expert_map = map.empty() ? nullptr : of_map.data_pointer(),
      .unexpected = counts ? unexpected.address() : nullptr,
      .global_experts = static_cast<std::int64_t>(map.size())};
  const MatrixOfBoxes boxes{of.in, x.data_pointer(), of.rows() / of.fan_out, of.depth, of.depth};
  const std::string problem = launch_linear<Mapped>(kernel, arguments, boxes, tunes);
  if (!problem.empty()) return problem;
  if (!out.guards_are_whole()) return "wrote outside of out";
  const std::string miscounted = counts ? unexpected.difference() : "";
  return miscounted.empty() ? of.difference(out.bytes()) : miscounted;
}

const RunnerFor<args::LinearExperts> experts_runner{experts_difference<false>};
const RunnerFor<args::LinearExpertsFew> experts_few_runner{experts_difference<false>};
const RunnerFor<args::LinearExpertsWgmma> experts_wgmma_runner{experts_difference<true>};

}  // namespace
}  // namespace diecast::variants
