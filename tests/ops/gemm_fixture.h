// Products on the host of matrices that were quantized here, and what the reference makes of them.
#pragma once

#include <diecast/ops/reference/gemm_nvfp4.h>

#include <cstring>
#include <random>

#include "ops/tiles_fixture.h"

namespace diecast {

class GemmNvfp4 : public TilesOnHost {
 protected:
  struct Want {
    bool row_scaled = false;
    ScaleLayout layout = ScaleLayout::linear;
    int e4m3_bound = 448;
  };
  // Finite, of two scales of magnitude a row apart.
  Tensor values(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> all(static_cast<std::size_t>(rows * cols));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = normal(random) * (i / static_cast<std::size_t>(cols) % 2 == 0 ? 1.0f : 0.01f);
    }
    return {memory(all), DType::f32, Shape{rows, cols}, 0, nullptr};
  }
  QuantizedTensor quantized(const Tensor& x, const Want& want) {
    const QuantizedTensor out = output(x, [&](QuantizedTensor& q) {
      q.type.row_scaled = want.row_scaled;
      q.type.layout = want.layout;
      q.type.e4m3_bound = want.e4m3_bound;
    });
    QuantizeNvfp4Options options;
    options.device = device_;
    if (want.e4m3_bound == 256) options.four_over_six = FourOverSix::mse;
    quantize_nvfp4(*runtime_, x, out, options).value();
    return out;
  }
  Tensor room(std::int64_t rows, std::int64_t cols, DType dtype = DType::f32) {
    return {memory(rows * cols * dtype_bits(dtype) / 8), dtype, Shape{rows, cols}, 0, nullptr};
  }
  // What the reference reads of a side [rows, cols]: whole blocks, zeros behind the last column.
  static reference::PackedNvfp4 packed(const QuantizedTensor& q, bool columnwise) {
    reference::PackedNvfp4 out;
    const QuantizedSide& side = q.side(columnwise);
    out.rows = columnwise ? q.cols() : q.rows();
    const std::int64_t cols = columnwise ? q.rows() : q.cols();
    out.cols = ceil_div(cols, 16) * 16;
    out.row_bytes = out.cols / 2;
    out.bound = q.type.e4m3_bound;
    out.row_scaled = q.type.row_scaled;
    out.codes = bytes_at(side.data, side.data_bytes);
    for (std::int64_t i = 0; i < out.rows * out.cols; ++i) {
      const auto mask = static_cast<std::uint8_t>(i % 2 == 0 ? 0xF0 : 0x0F);
      if (i % out.cols >= cols) out.codes[static_cast<std::size_t>(i / 2)] &= mask;
    }
    const Octets scales = bytes_at(side.scale, side.scale_bytes);
    const std::int64_t blocks = out.cols / 16;
    for (std::int64_t i = 0; i < out.rows * blocks; ++i) {
      const auto at = scale_offset(q.type.layout, i / blocks, i % blocks, blocks);
      out.scales.push_back(scales[static_cast<std::size_t>(at)]);
    }
    return out;
  }
  static std::vector<float> amaxes(const QuantizedSide& side) {
    return {side.amax, side.amax + side.amax_count};
  }
  // The product by the reference, of the sides that `layout` names.
  std::vector<float> expected(const QuantizedTensor& a, const QuantizedTensor& b,
                              const GemmNvfp4Options& options) {
    const bool a_columns = options.layout == "NT", b_columns = options.layout != "TN";
    reference::GemmNvfp4 gemm{
        packed(a, a_columns),      packed(b, b_columns), amaxes(a.side(a_columns)),
        amaxes(b.side(b_columns)), options.alpha,        {},
        options.accumulate};
    if (options.bias) {
      const auto* bias = static_cast<const float*>(options.bias->data);
      gemm.bias.assign(bias, bias + options.bias->cols());
    }
    std::vector<float> out(static_cast<std::size_t>(gemm.a.rows * gemm.b.rows));
    reference::gemm_nvfp4(gemm, out.data(), DType::f32);
    return out;
  }
  void expect_product(const QuantizedTensor& a, const QuantizedTensor& b,
                      const GemmNvfp4Options& options) {
    const std::vector<float> want = expected(a, b, options);
    const bool columns = options.layout != "TN";
    const std::int64_t cols = columns ? b.cols() : b.rows();
    const Tensor out = room(static_cast<std::int64_t>(want.size()) / cols, cols);
    gemm_nvfp4(*runtime_, a, b, out, options).value();
    EXPECT_EQ(std::memcmp(out.data, want.data(), want.size() * 4), 0)
        << options.layout << " " << a.type.row_scaled << b.type.row_scaled;
  }
  GemmNvfp4Options on_host() const {
    GemmNvfp4Options options;
    options.device = device_;
    return options;
  }
};

}  // namespace diecast
