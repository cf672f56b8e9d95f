// FP8 weights as published models have them: E4M3 values with a scale for each block, row or matrix
// in a tensor beside them, maybe of another file.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/plan.h>

#include <optional>
#include <set>
#include <string>

namespace diecast {

// Of X.weight, F8_E4M3 of rank 2: X.weight_scale_inv or X.scale, a scale for each block of the
// config's size; or X.weight_scale, one for the matrix, one a row, or one for each block,
// [rows, 1, cols, 1] (ModelOpt) or [rows, cols] (compressed-tensors); of these names also exponents
// for each 32 of a row (MXFP8). Scales are F32, F16 or BF16 numbers, or exponents (F8_E8M0, U8), to
// multiply by. None for another tensor. Errors: file_corrupt (a type or shape that scales of this
// weight cannot have), not_supported (scales of blocks, where `model.unread_blocks`).
Result<std::optional<ScaledSource>> fp8_source(const CheckpointHeader& header,
                                               const TensorInfo& tensor, const ModelConfig& model);

// The same of all experts of a layer in one tensor X of rank 3 with X_scale_inv, a scale for each
// block of each expert. Errors: as fp8_source(); not_supported (blocks that reach from one expert
// into the next).
Result<std::optional<ScaledSource>> fp8_experts_source(const CheckpointHeader& header,
                                                       const TensorInfo& tensor,
                                                       const ModelConfig& model);

// The tensors that go with such weights, and are not needed once these have values: scales of the
// weights and of the inputs.
Result<std::set<std::string>> fp8_parts(const CheckpointHeader& header, const ModelConfig& model);

}  // namespace diecast
