// The sizes of blocks that configs say of FP8 weights.
#pragma once

#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/select/model_config.h>

#include <optional>

namespace diecast {

// Of [ROWS, COLS], or of compressed-tensors' older "ROWSxCOLS". None where these are not two
// positive numbers.
std::optional<BlockSize> block_size(const ConfigJson& said);

// Reads a quantization config's weight_block_size or its groups' block_structure into
// `out.blocks` and `out.unread_blocks`, and what groups say of integers into `out.unread_integers`
// and `out.integer_groups`.
void read_block_size(const ConfigJson& config, ModelConfig& out);

}  // namespace diecast
