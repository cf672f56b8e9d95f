// The runner of combine_experts.cu: the reference's bits, with every row of x that no expert made
// and that row's weight poisoned with NaN.
#include <diecast/ops/reference/combine_experts.h>

#include <limits>

#include "ops/linear/linear_case.h"
#include "ops/linear/routed.h"
#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

constexpr std::int64_t kSlots[] = {1, 2, 3, 5, 8};

// What a router chose, and what its experts made.
struct Combined {
  std::int64_t topk;
  Routed routed;
  std::vector<float> weights;
  std::vector<std::uint8_t> x;

  Combined(const Case& one, DType in, bool mapped, std::mt19937_64& random)
      : topk(kSlots[one.seed % std::size(kSlots)]), routed(indexed(one.rows * topk, random)) {
    if (mapped) map_ids(routed, random);
    std::uniform_real_distribution<float> share(0, 1);
    Numbers drawn(in, one.rows * topk * one.cols, 1, random);
    const std::int64_t row_bytes = one.cols * dtype_bits(in) / 8;
    for (std::int64_t slot = 0; slot < one.rows * topk; ++slot) {
      weights.push_back(share(random));
      if (routed.owner[static_cast<std::size_t>(slot)] != kNobody) continue;
      weights.back() = std::numeric_limits<float>::quiet_NaN();
      std::fill_n(drawn.bytes.begin() + slot * row_bytes, row_bytes, std::uint8_t{0xFF});
    }
    x = std::move(drawn.bytes);
  }
};

std::string combine_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  if (flag(s, "ALIGNED") && one.cols % 8 != 0) return "";
  const DType in = dtype_of(s, "IN"), out_type = dtype_of(s, "OUT");
  std::mt19937_64 random(one.seed * 9 + 2);
  Combined of(one, in, flag(s, "HAS_EXPERT_MAP"), random);
  std::vector<std::uint8_t> want(
      static_cast<std::size_t>(one.rows * one.cols * dtype_bits(out_type) / 8));
  const std::vector<std::int32_t> owner(of.routed.owner.begin(), of.routed.owner.end());
  reference::combine_experts({of.x.data(), in, {one.rows * of.topk, one.cols}}, owner.data(),
                             of.weights.data(), kExperts,
                             {want.data(), out_type, {one.rows, one.cols}});
  // Without ALIGNED, one element past a multiple of 16 bytes.
  const std::size_t past = flag(s, "ALIGNED") ? 0 : 1;
  const auto step = [past](DType type) {
    return past * static_cast<std::size_t>(dtype_bits(type)) / 8;
  };
  const DeviceBuffer x(device, of.x.size() + step(in));
  device.copy_to_device(x.data_pointer() + step(in), of.x.data(), of.x.size(), {}).value();
  const DType id = dtype_of(s, "ID");
  const std::vector<std::int64_t> numbers = routing_numbers(of.routed, id);
  const std::vector<std::uint8_t> bytes = bytes_of(numbers, id);
  const DeviceBuffer ids(device, bytes.data(), bytes.size());
  const std::vector<std::int32_t>& map = of.routed.map;
  const DeviceBuffer of_map(device, map.data(), map.size() * 4);
  const UnexpectedWord unexpected(device, of.routed, numbers);
  const DeviceBuffer weights(device, of.weights.data(), of.weights.size() * 4);
  const DeviceBuffer out(device, want.size(), step(out_type));
  const args::CombineExperts arguments{
      .x = {in, x.data_pointer() + step(in)},
      .topk_ids = {id, ids.data_pointer()},
      .topk_weights = weights.data_pointer(),
      .expert_map = map.empty() ? nullptr : of_map.data_pointer(),
      .unexpected = flag(s, "HAS_UNEXPECTED") ? unexpected.address() : nullptr,
      .out = {out_type, out.data_pointer()},
      .rows = one.rows,
      .cols = one.cols,
      .topk = of.topk,
      .experts = kExperts,
      .global_experts = static_cast<std::int64_t>(map.size())};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (!problem.empty()) return problem;
  const std::string miscounted = flag(s, "HAS_UNEXPECTED") ? unexpected.difference() : "";
  return miscounted.empty() ? compare("out", out, want.data(), want.size()) : miscounted;
}

const RunnerFor<args::CombineExperts> combine_runner{combine_difference};

}  // namespace
}  // namespace diecast::variants
