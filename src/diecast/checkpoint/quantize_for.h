// Weights that are new while an engine serves a quantized folder: quantized as that folder's config
// says, in device memory, to the bits that `diecast quantize` writes of a folder of them.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/launch/device.h>
#include <diecast/ops/nvfp4/decode_scale.h>
#include <diecast/ops/tensor.h>
#include <diecast/runtime/runtime.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct NewWeight {
  std::string
      name;  // as the model without quantization has it: "model.layers.0.mlp.up_proj.weight"
  DType dtype = DType::bf16;
  Shape shape;
  // The amax of all weights that share its global scale is given, because this is a shard of one of
  // them or the others are elsewhere.
  bool amax_given = false;
  float input_scale = 1.0f;  // amax / 2688 of its inputs
};

struct QuantizeForOptions {
  Nvfp4Scheme scheme;  // what the folder was quantized with: its config does not say
  // Weights that share a global scale are all there, as far as the model has them. Else one without
  // the others (a gate_proj without its up_proj) is an error.
  bool whole_families = false;
};

class QuantizeFor {
 public:
  // `config`: the text of the quantized folder's config.json. Tensors that it does not quantize,
  // or that are not F32, F16 or BF16, have no outputs. Experts of a layer in one tensor of rows
  // become a weight for each expert. Compiles and loads what is not an op's kernel; those are
  // prepared as run() first needs them. Errors: not_supported (a config that says no form, or
  // another one; experts that lie transposed; matrices of a rank that no engine reads),
  // invalid_argument (a name given twice; a part of what shares a scale), shape_mismatch (rows of
  // no whole blocks), and those of preparing.
  static Result<QuantizeFor> prepare(std::shared_ptr<Runtime> runtime,
                                     std::shared_ptr<Device> device, std::string_view config,
                                     std::span<const NewWeight> weights,
                                     const QuantizeForOptions& options = {});

  // What run() writes, in the order of the weights' names: tensors as plan_quantize() says.
  std::span<const TensorInfo> outputs() const { return outputs_; }
  // The place of each output's weight among those that prepare() was given.
  std::span<const std::size_t> sources() const { return sources_; }
  std::uint64_t workspace_bytes() const { return groups_ * sizeof(float); }

  // All memory is the device's. `weights` and `amaxes` (f32 [1]; null where none is given) are as
  // prepared, dense; `outputs` as outputs(), each from a multiple of 16 bytes on. Allocates no
  // device memory and waits for nothing once its ops are prepared. NaN and infinities are not
  // looked for. Errors: invalid_argument (other numbers of them), missing_buffer, and those of the
  // ops.
  Result<void> run(std::span<const void* const> weights, std::span<const float* const> amaxes,
                   std::span<void* const> outputs, float* workspace, Stream stream = {}) const;

 private:
  // One weight on its way.
  struct Step {
    std::size_t weight = 0;    // of the caller's
    std::uint64_t offset = 0;  // bytes from there
    DType dtype = DType::bf16;
    std::int64_t rows = 0, cols = 0;
    StoredForm form;
    std::size_t output = 0;  // its first
    std::size_t group = 0;   // whose amax is its
    bool first = false;      // of the group
    bool amax_given = false;
    float input_scale = 1.0f;
  };
  Result<void> add_steps(const Plan& plan, std::span<const NewWeight> weights);
  Result<void> find_amax(const Step& step, const void* weight, float* amax, Stream stream) const;
  Result<void> quantize(const Step& step, const void* weight, const float* amax,
                        std::span<void* const> outputs, Stream stream) const;

  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Device> device_;
  Nvfp4Scheme scheme_;
  std::size_t weights_ = 0, groups_ = 0;
  std::vector<Step> steps_;  // group by group
  std::vector<TensorInfo> outputs_;
  std::vector<std::size_t> sources_;
  DecodeScaleKernel decode_scale_;  // of NVFP4
};

}  // namespace diecast
