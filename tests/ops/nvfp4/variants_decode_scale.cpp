// Runner of decode_scale: amaxes of every magnitude, zero, infinity and NaN among them, against the
// formulas of the profiles.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <random>
#include <vector>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

float expected(Profile profile, float bound, float amax) {
  const float largest = 6.0f * bound;
  if (profile == Profile::modelopt || profile == Profile::torchao) {
    const float factor = 1.0f / largest;
    return amax * factor;
  }
  if (std::isnan(amax) && profile != Profile::te) return amax;
  const float encode = std::fmin(largest / amax, FLT_MAX);
  return encode == 0.0f || (amax == 0.0f && profile != Profile::te_ref) ? 1.0f : 1.0f / encode;
}

std::string decode_scale_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const auto profile = enum_of<Profile>(s, "PROFILE");
  const bool reciprocal = flag(s, "RECIPROCAL"), with_input = flag(s, "INPUT");
  std::mt19937_64 random(one.seed * 19 + 7);
  std::vector<float> amaxes, want;
  for (std::int64_t i = 0; i < one.cols; ++i) {
    const float odd[] = {0.0f, INFINITY, NAN, FLT_MIN / 4, FLT_MAX, 1.0f};
    const bool usual = random() % 2 == 0 || (profile == Profile::te && i % 6 == 2);
    amaxes.push_back(usual ? std::ldexp(static_cast<float>(random() % 65536 + 1),
                                        static_cast<int>(random() % 60) - 40)
                           : odd[i % 6]);
    const float decode = expected(profile, static_cast<float>(s.number("BOUND")), amaxes.back());
    const float scale = reciprocal ? 1.0f / decode : decode;
    want.push_back(std::isnan(scale) ? std::bit_cast<float>(0x7FFFFFFF) : scale);
  }
  const std::size_t bytes = amaxes.size() * sizeof(float);
  const std::vector<float> inputs(with_input ? amaxes.size() : 0, 0.375f);
  const DeviceBuffer amax(device, amaxes.data(), bytes), scales(device, bytes);
  const DeviceBuffer written(device, inputs.size() * sizeof(float));
  const args::DecodeScale arguments{.amax = amax.data_pointer(),
                                    .scales = scales.data_pointer(),
                                    .inputs = written.data_pointer(),
                                    .count = one.cols,
                                    .input = 0.375f};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare("scales", scales, want.data(), bytes);
  if (!problem.empty()) return problem;
  return compare("inputs", written, inputs.data(), inputs.size() * sizeof(float));
}

const RunnerFor<args::DecodeScale> decode_scale_runner{decode_scale_difference};

}  // namespace
}  // namespace diecast::variants
