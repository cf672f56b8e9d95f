// NVFP4 under profile `te` in blocks of 16x16, one tile after another: the truth for weights that
// are cast whole or in shards. All memory here is host memory.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/reference/nvfp4_te.h>
#include <diecast/ops/tensor.h>

namespace diecast::reference {

// As te_quantize_nvfp4, but a block is the tile of 16 rows and columns, cut off at the edges: its
// scale stands in each of its rows. x is f32, bf16 or f16. Errors: dtype_mismatch, Tensor::check's.
Result<Nvfp4> te_quantize_nvfp4_tiles(const Tensor& x);
// The same of the transposed matrix: what the columnwise side holds.
Result<Nvfp4> te_quantize_nvfp4_tiles_transposed(const Tensor& x);

}  // namespace diecast::reference
