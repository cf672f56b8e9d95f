// Runners of the templates that quantize to NVFP4 along rows.
#include <diecast/ops/reference/nvfp4.h>
#include <diecast/ops/reference/nvfp4_te.h>

#include <cstring>
#include <type_traits>

#include "ops/near_reciprocal.h"
#include "ops/variant_case.h"

namespace diecast::variants {
namespace {
// What a specialization's options mean to the reference.
reference::Nvfp4Options options_of(const Specialization& s, bool finds_rows) {
  reference::Nvfp4Options options;
  options.profile = static_cast<Profile>(s.number("PROFILE"));
  options.four_over_six = static_cast<FourOverSix>(s.number("FOUR_OVER_SIX"));
  options.bound = static_cast<int>(s.number("BOUND"));
  options.rht = flag(s, "RHT");
  options.sign_mask = static_cast<unsigned>(s.number("SIGN_MASK"));
  options.row_scaled = finds_rows || flag(s, "ROW_SCALE");
  options.random = random_of(s);
  if (!finds_rows) options.global = static_cast<GlobalScale>(s.number("GLOBAL"));
  return options;
}

bool takes_reciprocals(Profile profile) {
  return profile == Profile::flashinfer_fast || profile == Profile::flashinfer_dsl_fast;
}

// What a caller gives: amaxes by the profile's rule for NaN or without NaN, now and then too small,
// so that block scales saturate; or global scales made of them.
std::vector<float> given_for(Tensor x, const Case& one, const reference::Nvfp4Options& options) {
  if (options.global == GlobalScale::none) return {};
  reference::Nvfp4Options rule = options;
  if (one.seed % 4 == 1) rule.profile = Profile::te;
  std::vector<float> given = reference::amax(x, rule).value();
  for (float& value : given) {
    value = usable_amax(one, value);
    if (one.seed % 3 == 0) value *= 0.03f;
    if (options.global != GlobalScale::amax) value = 2688.0f / value;  // infinite for an amax of 0
    if (options.global == GlobalScale::decode) value = 1.0f / value;
  }
  return given;
}

// Scales as the kernel's buffer has them, rows `stride` apart where they are; poison between.
std::vector<std::uint8_t> placed(const Specialization& s, const std::vector<std::uint8_t>& scales,
                                 std::int64_t rows, std::int64_t blocks, std::int64_t stride) {
  if (stride == 0 || rows == 0) return laid_out(s, scales, rows, blocks);
  std::vector<std::uint8_t> out(static_cast<std::size_t>((rows - 1) * stride + blocks),
                                DeviceBuffer::kPoison);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(out.data() + row * stride, scales.data() + row * blocks,
                static_cast<std::size_t>(blocks));
  }
  return out;
}

template <class Arguments>
std::string quantize_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  constexpr bool finds_rows = std::is_same_v<Arguments, args::QuantizeNvfp4RowScaled>;
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  reference::Nvfp4Options options = options_of(s, finds_rows);
  const std::int64_t blocks = (one.cols + 15) / 16;
  const bool with_block_amax = !finds_rows && flag(s, "BLOCK_AMAX");
  if (with_block_amax) options.block_amax = block_amaxes(one.rows * blocks, one.seed);
  if (takes_reciprocals(options.profile)) options.near = near_reciprocal();
  const std::vector<float> amax = finds_rows ? reference::amax(x.on_host(), options).value()
                                             : given_for(x.on_host(), one, options);
  const auto want = reference::quantize_nvfp4(x.on_host(), options, amax).value();
  const std::int64_t scale_stride = flag(s, "SCALES_APART") ? blocks + 5 : 0;
  const auto want_scales = placed(s, want.scales, one.rows, blocks, scale_stride);

  DeviceBuffer codes(device, want.codes.size() + spare_bytes(one, want.codes.size()));
  DeviceBuffer scales(device, want_scales.size() + spare_bytes(one, want_scales.size()));
  DeviceBuffer amaxes(device, amax.size() * sizeof(float));
  DeviceBuffer of_blocks(device, options.block_amax.data(), options.block_amax.size() * 4);
  if (!finds_rows)
    device.copy_to_device(amaxes.data_pointer(), amax.data(), amax.size() * 4, {}).value();
  const Rows rows = rows_of(device, one);
  const DeviceBuffer state(device, options.random ? &*options.random : nullptr,
                           options.random ? sizeof *options.random : 0);
  Arguments arguments{.x = x.argument(),
                      .amax = amaxes.data_pointer(),
                      .codes = codes.data_pointer(),
                      .scales = {scales.data_pointer(), scale_stride},
                      .rows = rows.argument,
                      .cols = one.cols,
                      .rng = state.data_pointer()};
  if constexpr (!finds_rows) {
    if (with_block_amax) arguments.block_amax = of_blocks.data_pointer();
  }
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare("scales", scales, want_scales.data(), want_scales.size());
  if (problem.empty()) problem = compare("codes", codes, want.codes.data(), want.codes.size());
  if (problem.empty()) problem = compare("amax", amaxes, want.amax.data(), want.amax.size() * 4);
  return problem;
}

std::string quantize_nvfp4_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  return quantize_difference<args::QuantizeNvfp4>(kernel, one, tunes);
}

std::string quantize_nvfp4_row_scaled_difference(Kernel& kernel, const Case& one,
                                                 const Bindings& tunes) {
  return quantize_difference<args::QuantizeNvfp4RowScaled>(kernel, one, tunes);
}

// Of the kernels for small matrices: profile te; linear scales where a tensor amax is found.
enum class Amax { is_given, of_tensor, of_rows };  // the latter are found
template <class Arguments>
std::string small_difference(Kernel& kernel, const Case& one, const Bindings& tunes, Amax kind) {
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(kernel.specialization(), "IN"),
                          kind == Amax::of_rows ? "apart" : "dense");
  reference::Nvfp4Options options;
  options.row_scaled = kind == Amax::of_rows;
  const std::vector<float> amax = kind == Amax::is_given
                                      ? given_for(x.on_host(), one, options)
                                      : reference::amax(x.on_host(), options).value();
  const auto want = reference::quantize_nvfp4(x.on_host(), options, amax).value();
  DeviceBuffer codes(device, want.codes.size() + spare_bytes(one, want.codes.size()));
  const auto want_scales = kind == Amax::of_tensor ? want.scales
                                                   : laid_out(kernel.specialization(), want.scales,
                                                              one.rows, one.cols / 16);
  DeviceBuffer scales(device, want_scales.size() + spare_bytes(one, want_scales.size()));
  DeviceBuffer amaxes(device, amax.size() * sizeof(float));
  if (kind == Amax::is_given)
    device.copy_to_device(amaxes.data_pointer(), amax.data(), amax.size() * 4, {}).value();
  const Arguments arguments{.x = x.argument(),
                            .amax = amaxes.data_pointer(),
                            .codes = codes.data_pointer(),
                            .scales = scales.data_pointer(),
                            .rows = one.rows,
                            .cols = one.cols};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare("scales", scales, want_scales.data(), want_scales.size());
  if (problem.empty()) problem = compare("codes", codes, want.codes.data(), want.codes.size());
  if (problem.empty()) problem = compare("amax", amaxes, amax.data(), amax.size() * sizeof(float));
  return problem;
}

std::string quantize_nvfp4_few_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  return small_difference<args::QuantizeNvfp4Few>(kernel, one, tunes, Amax::is_given);
}

std::string quantize_nvfp4_amax_few_difference(Kernel& kernel, const Case& one,
                                               const Bindings& tunes) {
  return small_difference<args::QuantizeNvfp4AmaxFew>(kernel, one, tunes, Amax::of_tensor);
}

std::string quantize_nvfp4_row_scaled_few_difference(Kernel& kernel, const Case& one,
                                                     const Bindings& tunes) {
  return small_difference<args::QuantizeNvfp4RowScaledFew>(kernel, one, tunes, Amax::of_rows);
}

const RunnerFor<args::QuantizeNvfp4> quantize_nvfp4_runner{quantize_nvfp4_difference};
const RunnerFor<args::QuantizeNvfp4RowScaled> quantize_nvfp4_row_scaled_runner{
    quantize_nvfp4_row_scaled_difference};
const RunnerFor<args::QuantizeNvfp4Few> quantize_nvfp4_few_runner{quantize_nvfp4_few_difference};
const RunnerFor<args::QuantizeNvfp4AmaxFew> quantize_nvfp4_amax_few_runner{
    quantize_nvfp4_amax_few_difference};
const RunnerFor<args::QuantizeNvfp4RowScaledFew> quantize_nvfp4_row_scaled_few_runner{
    quantize_nvfp4_row_scaled_few_difference};

}  // namespace
}  // namespace diecast::variants
