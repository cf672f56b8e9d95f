// One kernel; see decode_scale.h.
#include <diecast/kernel_arguments.h>
#include <diecast/ops/nvfp4/decode_scale.h>
#include <diecast/ops/prepared.h>

namespace diecast {
namespace {
constexpr std::string_view kName = "decode_scale";
}

Result<DecodeScaleKernel> DecodeScaleKernel::prepare(Runtime& runtime,
                                                     const std::shared_ptr<Device>& device,
                                                     const QuantizedType& type, bool reciprocal,
                                                     bool inputs) {
  KernelWanted wanted{kName, {}};
  wanted.bindings = {{"PROFILE", request_detail::value_of(type.profile)},
                     {"BOUND", Value::integer(type.e4m3_bound)},
                     {"RECIPROCAL", Value::boolean(reciprocal)},
                     {"INPUT", Value::boolean(inputs)}};
  DecodeScaleKernel out;
  DIECAST_TRY(out.kernel_, preload_for(runtime, device, wanted));
  return out;
}

Result<void> DecodeScaleKernel::run(const float* amax, float* scales, float* inputs,
                                    std::int64_t count, float input, Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  const args::DecodeScale arguments{
      .amax = amax, .scales = scales, .inputs = inputs, .count = count, .input = input};
  return launch_op(kName, *kernel_, arguments, stream);
}

}  // namespace diecast
