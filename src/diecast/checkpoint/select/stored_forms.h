// Weights that some tool has quantized already, by the tensors that go with them.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/plan.h>

#include <optional>

namespace diecast {

// A U8 X.weight with an F8_E4M3 weight_scale and a weight_scale_2, or experts X in one tensor with
// X_weight_scale and X_weight_scale_2: NVFP4 as we and ModelOpt store it.
bool is_nvfp4(const CheckpointHeader& header, const TensorInfo& tensor);

// A U8 X.weight_packed with an F8_E4M3 weight_scale and a weight_global_scale: NVFP4 as
// compressed-tensors stores it.
bool is_packed_nvfp4(const CheckpointHeader& header, const TensorInfo& tensor);

// Whose names NVFP4 of another tool gets, and, where it has ModelOpt's, how it lies.
struct Nvfp4Conversion {
  EngineConfig to = EngineConfig::modelopt;
  std::optional<Nvfp4Layout> layout;  // none: as ModelOpt's own
};

// A matrix of NVFP4 that is to be converted: one of other names than those that it gets, or with a
// layout one of ModelOpt's names. None for another tensor.
std::optional<ScaledSource> nvfp4_source(const CheckpointHeader& header, const TensorInfo& tensor,
                                         const Nvfp4Conversion& conversion);

// None where a model has no such matrix, or something else is asked for. Else the model is
// converted: nothing is quantized anew.
std::optional<Nvfp4Conversion> conversion_of(const CheckpointHeader& header,
                                             const QuantizeOptions& options);

// A matrix of at most eight bits an element, or packed ones, with a tensor of scales: of
// X.weight_packed X.weight_scale, of X, as all experts in one tensor are called, X_weight_scale.
bool has_scales(const CheckpointHeader& header, const TensorInfo& tensor);

// Nothing, unless a weight has codes and no scales, so that its values are not known: FP8, eight to
// a word, or, where the config says that weights are quantized, other bytes. Errors: file_corrupt.
Result<void> refuse_unscaled(const CheckpointHeader& header, const ModelConfig& model);

// Nothing, unless the config says NVFP4 and a weight has its codes and block scales without the
// global one. Errors: file_corrupt.
Result<void> refuse_half_scaled(const CheckpointHeader& header, const ModelConfig& model);

// Nothing, unless the file has NVFP4 and says that it is ComfyUI's: a tensor X.comfy_quant, or
// metadata _quantization_metadata. Its NVFP4 has the names of ModelOpt's, with block scales in
// tiles of 128x4, so that its values would be noise. Errors: not_supported.
Result<void> refuse_comfy(const CheckpointHeader& header);
inline constexpr std::string_view kComfyTensor = ".comfy_quant",
                                  kComfyMetadata = "_quantization_metadata";

// Nothing, unless the model is quantized already: it would become a mixture that no config
// describes. Errors: invalid_argument (by us, unless it is converted), not_supported (a layout is
// given that no matrix has; unless forced: by another tool, or a gpt-oss where no format is asked
// for), file_corrupt (unless forced: as refuse_unscaled()'s, and
// scales of another shape).
Result<void> refuse_quantized(const CheckpointHeader& header, const QuantizeOptions& options);

}  // namespace diecast
