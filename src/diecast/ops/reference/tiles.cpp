// See tiles.h. Every `*`, `/`, `+` and `-` on floats is one rounding.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/tiles.h>

#include <cmath>
#include <cstring>

namespace diecast::reference {
namespace {

float rounded(float value, DType type) {
  std::uint32_t room = 0;
  store(&room, type, 0, value);
  return load(&room, type, 0);
}

// The transform of values[0], values[1], ... values[15] in place: sums and differences of pairs
// that are 1, 2, 4, 8 apart.
void transform(float* values, unsigned sign_mask) {
  for (unsigned i = 0; i < 16; ++i) {
    if ((sign_mask >> i & 1u) != 0) values[i] = -values[i];
  }
  for (int apart = 1; apart < 16; apart += apart) {
    for (int i = 0; i < 16; ++i) {
      if (i / apart % 2 != 0) continue;
      const float sum = values[i] + values[i + apart], difference = values[i] - values[i + apart];
      values[i] = sum;
      values[i + apart] = difference;
    }
  }
  for (int i = 0; i < 16; ++i) values[i] *= 0.25f;
}

Values transformed(const Values& x, DType type, unsigned sign_mask) {
  Values out{x.rows, ceil_div(x.cols, 16) * 16, {}};
  out.values.assign(static_cast<std::size_t>(out.rows * out.cols), 0.0f);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) out.at(row, col) = x.at(row, col);
    for (std::int64_t block = 0; block < out.cols; block += 16) {
      transform(&out.at(row, block), sign_mask);
    }
  }
  for (float& value : out.values) value = rounded(value, type);
  return out;
}

// 0x7FFFFFFF stands for NaN.
float larger(float amax, float value, AmaxNans nans) {
  if (std::isnan(amax)) return amax;
  if (!std::isnan(value)) return std::fabs(value) > amax ? std::fabs(value) : amax;
  if (nans == AmaxNans::ignore) return amax;
  const std::uint32_t bits = 0x7FFFFFFF;
  float nan = 0.0f;
  std::memcpy(&nan, &bits, sizeof nan);
  return nan;
}

}  // namespace

Values Values::transposed() const {
  Values out{cols, rows, std::vector<float>(values.size())};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) out.at(col, row) = at(row, col);
  }
  return out;
}

Values values_of(const Tensor& x, AmaxTransform transform, unsigned sign_mask) {
  Values out{x.rows(), x.cols(), {}};
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    for (std::int64_t col = 0; col < x.cols(); ++col) {
      out.values.push_back(load(x.data, x.dtype, row * x.stride() + col));
    }
  }
  if (transform == AmaxTransform::rowwise) return transformed(out, x.dtype, sign_mask);
  if (transform == AmaxTransform::none) return out;
  return transformed(out.transposed(), x.dtype, sign_mask).transposed();
}

std::vector<float> amax_per(const Tensor& x, AmaxPer per, AmaxNans nans, AmaxTransform transform,
                            unsigned sign_mask, int block) {
  const Values values = values_of(x, transform, sign_mask);
  const std::int64_t high = per == AmaxPer::tile ? 16 : 1;
  const std::int64_t width = per == AmaxPer::block ? block : 16;
  const std::int64_t across = per == AmaxPer::row ? 1 : ceil_div(x.cols(), width);
  std::int64_t count = 1;
  if (per == AmaxPer::column) count = x.cols();
  if (per == AmaxPer::row) count = x.rows();
  if (per == AmaxPer::block) count = x.rows() * across;
  if (per == AmaxPer::tile) count = ceil_div(x.rows(), 16) * across;
  std::vector<float> out(static_cast<std::size_t>(count), 0.0f);
  for (std::int64_t row = 0; row < values.rows; ++row) {
    for (std::int64_t col = 0; col < values.cols; ++col) {
      std::int64_t place = 0;
      if (per == AmaxPer::column) place = col;
      if (per == AmaxPer::row) place = row;
      if (per == AmaxPer::block || per == AmaxPer::tile) place = row / high * across + col / width;
      float& amax = out[static_cast<std::size_t>(place)];
      amax = larger(amax, values.at(row, col), nans);
    }
  }
  return out;
}

Bytes transpose_codes(const Bytes& codes, std::int64_t rows, std::int64_t cols, int pad) {
  const auto row_bytes = [pad](std::int64_t n) { return (n + pad - 1) / pad * pad / 2; };
  Bytes out(static_cast<std::size_t>(cols * row_bytes(rows)), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      const unsigned pair = codes[static_cast<std::size_t>(row * row_bytes(cols) + col / 2)];
      const unsigned code = col % 2 == 0 ? pair % 16 : pair / 16;
      std::uint8_t& to = out[static_cast<std::size_t>(col * row_bytes(rows) + row / 2)];
      to = static_cast<std::uint8_t>(to + (row % 2 == 0 ? code : code * 16));
    }
  }
  return out;
}

Bytes laid_out(const Bytes& scales, ScaleLayout layout, std::int64_t rows, std::int64_t cols) {
  const auto padded = [](std::int64_t n, int tile) { return (n + tile - 1) / tile * tile; };
  Bytes out(static_cast<std::size_t>(padded(rows, scale_tile_rows(layout)) *
                                     padded(cols, scale_tile_cols(layout))),
            0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      out[static_cast<std::size_t>(scale_offset(layout, row, col, cols))] =
          scales[static_cast<std::size_t>(row * cols + col)];
    }
  }
  return out;
}

Bytes transpose_tile_scales(const Bytes& scales, std::int64_t rows, std::int64_t cols,
                            std::int64_t new_rows) {
  Bytes out;
  for (std::int64_t row = 0; row < new_rows; ++row) {
    for (std::int64_t block = 0; block < ceil_div(rows, 16); ++block) {
      out.push_back(scales[static_cast<std::size_t>(block * 16 * cols + row / 16)]);
    }
  }
  return out;
}

std::uint8_t rescaled(std::uint8_t scale, float old_decode, float new_decode) {
  const float ratio = old_decode == new_decode ? 1.0f : old_decode / new_decode;
  return encode_e4m3(decode_e4m3(scale) * ratio);
}

}  // namespace diecast::reference
