// The runner of combine_experts.cu: the reference's bits, with every row of x that no expert made
// and that row's weight poisoned with NaN.
#include <diecast/ops/reference/combine_experts.h>

#include <limits>

#include "ops/linear/linear_case.h"
#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

constexpr std::int32_t kExperts = 4;
constexpr std::int32_t kIds[] = {0, 3,        1, -1,
                                 2, kExperts, 1, std::numeric_limits<std::int32_t>::min()};

constexpr std::int64_t kSlots[] = {1, 2, 3, 5, 8};

// What a router chose, and what its experts made.
struct Combined {
  std::int64_t topk;
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
  std::vector<std::uint8_t> x;

  Combined(const Case& one, DType in, std::mt19937_64& random)
      : topk(kSlots[one.seed % std::size(kSlots)]) {
    std::uniform_real_distribution<float> share(0, 1);
    Numbers drawn(in, one.rows * topk * one.cols, 1, random);
    const std::int64_t row_bytes = one.cols * dtype_bits(in) / 8;
    for (std::int64_t slot = 0; slot < one.rows * topk; ++slot) {
      ids.push_back(kIds[random() % std::size(kIds)]);
      weights.push_back(share(random));
      if (ids.back() >= 0 && ids.back() < kExperts) continue;
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
  Combined of(one, in, random);
  std::vector<std::uint8_t> want(
      static_cast<std::size_t>(one.rows * one.cols * dtype_bits(out_type) / 8));
  reference::combine_experts({of.x.data(), in, {one.rows * of.topk, one.cols}}, of.ids.data(),
                             of.weights.data(), kExperts,
                             {want.data(), out_type, {one.rows, one.cols}});
  // Without ALIGNED, one element past a multiple of 16 bytes.
  const std::size_t past = flag(s, "ALIGNED") ? 0 : 1;
  const auto step = [past](DType type) {
    return past * static_cast<std::size_t>(dtype_bits(type)) / 8;
  };
  const DeviceBuffer x(device, of.x.size() + step(in));
  device.copy_to_device(x.data_pointer() + step(in), of.x.data(), of.x.size(), {}).value();
  const DeviceBuffer ids(device, of.ids.data(), of.ids.size() * 4);
  const DeviceBuffer weights(device, of.weights.data(), of.weights.size() * 4);
  const DeviceBuffer out(device, want.size(), step(out_type));
  const args::CombineExperts arguments{.x = {in, x.data_pointer() + step(in)},
                                       .topk_ids = ids.data_pointer(),
                                       .topk_weights = weights.data_pointer(),
                                       .out = {out_type, out.data_pointer()},
                                       .rows = one.rows,
                                       .cols = one.cols,
                                       .topk = of.topk,
                                       .experts = kExperts};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.data(), want.size()) : problem;
}

const RunnerFor<args::CombineExperts> combine_runner{combine_difference};

}  // namespace
}  // namespace diecast::variants
