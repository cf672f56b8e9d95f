// NVFP4 of a matrix or its transpose, in 1x16 or 16x16 blocks, one element after another: the truth
// of quantize_nvfp4_tiles. A transposed matrix is what the columns' direction quantizes; that of
// 16x16 blocks is the transpose of the rows' direction unless it is transformed itself or rounded
// by random numbers, which are its own.
#pragma once

#include <diecast/ops/reference/nvfp4.h>
#include <diecast/ops/reference/tiles.h>

#include <vector>

namespace diecast::reference {

struct TilesOptions {
  Nvfp4Options nvfp4;   // rht: this direction is transformed; block_amax: of a square once
  bool square = false;  // 16x16 blocks
};

struct CodesAndScales {
  Bytes codes, scales;          // linear scales
  std::vector<float> scaled{};  // what each code was rounded from, rows padded as codes are
};

// What is under one global scale each: values of `x` (or of its columns), transformed where the
// options say so. `given`: what options.nvfp4.global says, one entry, or one a row (a column).
CodesAndScales quantize_rowwise(const Tensor& x, const TilesOptions& options,
                                const std::vector<float>& given);
CodesAndScales quantize_columnwise(const Tensor& x, const TilesOptions& options,
                                   const std::vector<float>& given);

// The amaxes of a direction under the profile's rule for NaN: one, or one a row (a column).
std::vector<float> amax_rowwise(const Tensor& x, const Nvfp4Options& options);
std::vector<float> amax_columnwise(const Tensor& x, const Nvfp4Options& options);

}  // namespace diecast::reference
