// Weights of four bits as published models have them: MXFP4 (pairs of E2M1 codes, a power of two
// for each 32) and INT4 (eight to a word, a number for each group).
#pragma once

#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/select/model_config.h>
#include <diecast/checkpoint/select/stored_forms.h>

#include <map>
#include <optional>
#include <string>

namespace diecast {

// Of P.experts.gate_up_proj_blocks U8 [E, N, K/32, 16] (or down_proj) with _scales U8 [E, N, K/32]
// (gpt-oss), of X.weight_packed U8 [N, K/2] with X.weight_scale U8 or F8_E8M0 [N, K/32]
// (compressed-tensors), and of X.weight I8 or U8 [N, K/2] with X.scale F8_E8M0 (DeepSeek): MXFP4.
// Of X.weight_packed I32 [N, K/8] with X.weight_scale [N, K/G] of floating-point numbers
// (compressed-tensors, symmetric): INT4. None for another tensor.
std::optional<ScaledSource> packed_source(const CheckpointHeader& header, const TensorInfo& tensor);

// Nothing, unless codes and scales have the names and types of such a weight, and shapes that do
// not fit. Errors: file_corrupt.
Result<void> refuse_misfits(const CheckpointHeader& header);

// The header as if these weights were stored as X.weight [N, K], experts as P.experts.gate_up_proj
// [E, K, N], without their scales. `sources`: where each lies. `conversion`: NVFP4 to be converted
// is such too, and what marks it as ComfyUI's is gone.
CheckpointHeader unpacked_header(const CheckpointHeader& header,
                                 std::map<std::string, ScaledSource>& sources,
                                 const std::optional<Nvfp4Conversion>& conversion = {});

// Whether the config says of packed integers what their tensors say; `header` is that of
// unpacked_header(). Errors: not_supported (where `model.unread_integers`), file_corrupt (groups of
// another size).
Result<void> check_integers(const CheckpointHeader& header,
                            const std::map<std::string, ScaledSource>& sources,
                            const ModelConfig& model);

// Whether X.weight_shape, where there is one, holds the shape that packed weights have. Errors:
// file_corrupt, io_error.
Result<void> check_weight_shapes(const Checkpoint& checkpoint);

// How kernels see a weight of this shape, rank 2 or 3; `columns`: each matrix lies transposed.
Matrices matrices_of(const std::vector<std::uint64_t>& shape, bool columns = false);

// Where the values of experts lie in a tensor X [E, K, N] of columns.
Placement in_columns(const std::string& tensor, const Matrices& of);

// Makes floating-point numbers of a weight that lies in another form.
void decode_from(const ScaledSource& source, PlannedTensor& tensor);

}  // namespace diecast
