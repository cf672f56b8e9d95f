// The global scales that a checkpoint stores beside NVFP4 weights, from their amaxes.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/launch/kernel.h>
#include <diecast/ops/quantized_type.h>
#include <diecast/runtime/runtime.h>

#include <cstdint>
#include <memory>

namespace diecast {

class DecodeScaleKernel {
 public:
  // Of a type's profile and bound; `reciprocal`: one over each scale; `inputs`: run() writes them.
  // Errors: constraint_violated (a profile that checkpoints have not), those of preparing.
  static Result<DecodeScaleKernel> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                           const QuantizedType& type, bool reciprocal, bool inputs);

  // amax, scales and inputs: f32 [count] in device memory. Each of `inputs` (null where none are
  // written) becomes `input`. Errors: those of Kernel::launch.
  Result<void> run(const float* amax, float* scales, float* inputs, std::int64_t count, float input,
                   Stream stream) const;

 private:
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace diecast
