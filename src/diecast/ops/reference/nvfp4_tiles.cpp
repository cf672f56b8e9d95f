// NVFP4 in tiles; see nvfp4_tiles.h.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_tiles.h>

#include <algorithm>
#include <cmath>

namespace diecast::reference {
namespace {

// x, or its transpose.
struct Elements {
  const Tensor& x;
  bool transposed;
  std::int64_t rows() const { return transposed ? x.cols() : x.rows(); }
  std::int64_t cols() const { return transposed ? x.rows() : x.cols(); }
  float at(std::int64_t row, std::int64_t col) const {
    return load(x.data, x.dtype, transposed ? col * x.stride() + row : row * x.stride() + col);
  }
};

struct TileRange {
  std::int64_t row, row_end, col, col_end;
};

float tile_amax(const Elements& elements, const TileRange& tile) {
  float largest = 0.0f;
  for (std::int64_t row = tile.row; row < tile.row_end; ++row) {
    for (std::int64_t col = tile.col; col < tile.col_end; ++col) {
      const float magnitude = std::fabs(elements.at(row, col));
      if (magnitude > largest) largest = magnitude;  // false for NaN
    }
  }
  return largest;
}

void quantize_tile(const Elements& elements, const TileRange& tile, float encode_scale,
                   Nvfp4& out) {
  const std::int64_t row_blocks = (out.cols + 15) / 16;
  const std::uint8_t scale = te_block_scale(tile_amax(elements, tile), encode_scale);
  const float factor = te_encode_factor(scale, encode_scale);
  for (std::int64_t row = tile.row; row < tile.row_end; ++row) {
    out.scales[static_cast<std::size_t>(row * row_blocks + tile.col / 16)] = scale;
    for (std::int64_t col = tile.col; col < tile.col_end; ++col) {
      const std::uint8_t code = te_code(elements.at(row, col), factor);
      auto& byte = out.codes[static_cast<std::size_t>(row * row_blocks * 8 + col / 2)];
      byte = static_cast<std::uint8_t>(col % 2 == 0 ? byte + code : byte + code * 16);
    }
  }
}

Result<Nvfp4> quantize(const Tensor& x, bool transposed) {
  DIECAST_TRY(std::vector<float> own, amax(x, false));
  const Elements elements{x, transposed};
  Nvfp4 out{elements.rows(), elements.cols(), {}, {}, false, std::move(own)};
  const std::int64_t row_blocks = (out.cols + 15) / 16;
  out.codes.resize(static_cast<std::size_t>(out.rows * row_blocks * 8));
  out.scales.resize(static_cast<std::size_t>(out.rows * row_blocks));
  const float encode_scale = te_encode_scale(out.amax[0]);
  for (std::int64_t row = 0; row < out.rows; row += 16) {
    for (std::int64_t col = 0; col < out.cols; col += 16) {
      const TileRange tile{row, std::min(row + 16, out.rows), col, std::min(col + 16, out.cols)};
      quantize_tile(elements, tile, encode_scale, out);
    }
  }
  return out;
}

}  // namespace

Result<Nvfp4> te_quantize_nvfp4_tiles(const Tensor& x) { return quantize(x, false); }
Result<Nvfp4> te_quantize_nvfp4_tiles_transposed(const Tensor& x) { return quantize(x, true); }

}  // namespace diecast::reference
