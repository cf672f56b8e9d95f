// gemm_nvfp4 as a caller has it: matrices that were quantized here, each layout letter, groups
// against their members one by one, and row scales whose order of products shows in the last place.
#include <diecast/ops/reference/gemm_nvfp4.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

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
      q.row_scaled = want.row_scaled;
      q.layout = want.layout;
      q.e4m3_bound = want.e4m3_bound;
    });
    QuantizeNvfp4TilesOptions options;
    options.device = device_;
    if (want.e4m3_bound == 256) options.four_over_six = FourOverSix::mse;
    quantize_nvfp4_tiles(*runtime_, x, out, options).value();
    return out;
  }
  Tensor room(std::int64_t rows, std::int64_t cols, DType dtype = DType::f32) {
    return {memory(rows * cols * dtype_bits(dtype) / 8), dtype, Shape{rows, cols}, 0, nullptr};
  }
  // What the reference reads of a side [rows, cols].
  static reference::PackedNvfp4 packed(const QuantizedTensor& q, bool columnwise) {
    reference::PackedNvfp4 out;
    const QuantizedSide& side = q.side(columnwise);
    out.rows = columnwise ? q.cols() : q.rows();
    out.cols = columnwise ? q.rows() : q.cols();
    out.row_bytes = out.cols / 2;
    out.bound = q.e4m3_bound;
    out.row_scaled = q.row_scaled;
    out.codes = bytes_at(side.data, side.data_bytes);
    const Octets scales = bytes_at(side.scale, side.scale_bytes);
    const std::int64_t blocks = out.cols / 16;
    for (std::int64_t i = 0; i < out.rows * blocks; ++i) {
      const auto at = scale_offset(q.layout, i / blocks, i % blocks, blocks);
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
        << options.layout << " " << a.row_scaled << b.row_scaled;
  }
  GemmNvfp4Options on_host() const {
    GemmNvfp4Options options;
    options.device = device_;
    return options;
  }
};

TEST_F(GemmNvfp4, EachLayoutLetterReadsItsSide) {
  GemmNvfp4Options options = on_host();
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    const Want want{false, layout};
    options.layout = "TN";  // [48, 64] by [80, 64]
    expect_product(quantized(values(48, 64, 1), want), quantized(values(80, 64, 2), want), options);
    options.layout = "NN";  // the gradient of the activation: [48, 80] by [80, 64]
    expect_product(quantized(values(48, 80, 3), want), quantized(values(80, 64, 4), want), options);
    options.layout = "NT";  // the gradient of the weight: [48, 80] by [48, 64]
    expect_product(quantized(values(48, 80, 5), want), quantized(values(48, 64, 6), want), options);
  }
}

TEST_F(GemmNvfp4, RowScalesAreAppliedInTheOrderThatIsStated) {
  GemmNvfp4Options options = on_host();
  options.alpha = 0.7f;
  int seed = 10;
  for (const std::int64_t rows : {1, 33}) {
    for (const std::int64_t cols : {1, 40}) {
      for (const int scaled : {0, 1, 2, 3}) {
        const auto a = quantized(values(rows, 96, seed++), {(scaled & 1) != 0});
        const auto b = quantized(values(cols, 96, seed++), {(scaled & 2) != 0});
        options.bias.reset();
        expect_product(a, b, options);
        options.bias = values(1, cols, seed++);
        options.bias->shape = Shape{cols};
        expect_product(a, b, options);
      }
    }
  }
}

TEST_F(GemmNvfp4, EachOperandHasItsOwnBound) {
  expect_product(quantized(values(16, 32, 40), {false, ScaleLayout::linear, 256}),
                 quantized(values(24, 32, 41), {}), on_host());
}

TEST_F(GemmNvfp4, AccumulatesInTheOutputsType) {
  GemmNvfp4Options options = on_host();
  const auto a = quantized(values(17, 64, 50), {true}), b = quantized(values(24, 64, 51), {});
  const Tensor once = room(17, 24, DType::bf16), twice = room(17, 24, DType::bf16);
  gemm_nvfp4(*runtime_, a, b, once, options).value();
  gemm_nvfp4(*runtime_, a, b, twice, options).value();
  options.accumulate = true;
  gemm_nvfp4(*runtime_, a, b, twice, options).value();
  for (int i = 0; i < 17 * 24; ++i) {
    const float one = reference::load(once.data, DType::bf16, i);
    EXPECT_EQ(reference::load(twice.data, DType::bf16, i), 2 * one) << i;
  }
}

TEST_F(GemmNvfp4, NothingIsDoneForAnOutputWithoutElements) {
  const auto a = quantized(values(0, 64, 60), {}), b = quantized(values(24, 64, 61), {});
  gemm_nvfp4(*runtime_, a, b, room(0, 24), on_host()).value();
}

TEST_F(GemmNvfp4, AProductOfNothingIsTheBias) {
  QuantizedTensor a = quantized(values(3, 16, 62), {}), b = quantized(values(5, 16, 63), {});
  a.shape = {3, 0}, b.shape = {5, 0};
  GemmNvfp4Options options = on_host();
  options.bias = values(1, 5, 64);
  const Tensor out = room(3, 5);
  gemm_nvfp4(*runtime_, a, b, out, options).value();
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(bytes_at(static_cast<float*>(out.data) + row * 5, 20),
              bytes_at(options.bias->data, 20));
  }
}

// Experts of one layer: members of both groups one by one, empty ones skipped, rows of nobody left.
class GemmNvfp4Grouped : public GemmNvfp4 {
 protected:
  static constexpr std::int64_t kCols = 40, kDepth = 64, kHidden = 7;
  const std::vector<std::int64_t> offsets_ = {0, 0, 33, 161, 161, 162};
  const std::vector<std::int64_t> weights_ = {0, 40, 80, 120, 160, 200};

  QuantizedGroup group(const Tensor& x, const std::vector<std::int64_t>& offsets,
                       const Want& want) {
    QuantizedGroup out;
    out.count = static_cast<std::int64_t>(offsets.size()) - 1;
    out.whole.shape = x.shape;
    out.whole.row_scaled = want.row_scaled;
    out.whole.layout = want.layout;
    out.device_row_offsets = memory(offsets);
    out.members = reinterpret_cast<MemberDescriptor*>(memory(out.count * 96));
    out.whole.rowwise = out.rowwise_sizes().value();
    allocate(out.whole.rowwise);
    QuantizeNvfp4GroupedOptions options;
    options.device = device_;
    quantize_nvfp4_grouped(*runtime_, x, out, options).value();
    return out;
  }
};

TEST_F(GemmNvfp4Grouped, MembersAreMultipliedAsOneByOne) {
  for (const int kind : {0, 1, 2, 3}) {
    const Want left{kind % 2 == 1, kind < 2 ? ScaleLayout::linear : ScaleLayout::s128x4};
    const Want right{kind == 3, left.layout};
    QuantizedGroup a = group(values(162 + kHidden, kDepth, 70), offsets_, left);
    QuantizedGroup b = group(values(5 * kCols, kDepth, 71), weights_, right);
    GemmNvfp4Options options = on_host();
    options.bias = values(5, kCols, 72);
    const Tensor out = room(162 + kHidden, kCols);
    gemm_nvfp4_grouped(*runtime_, a, b, out, options).value();
    a.host_row_offsets = offsets_.data(), b.host_row_offsets = weights_.data();
    const Tensor all = *options.bias;
    for (std::int64_t i = 0; i < 5; ++i) {
      options.bias = all;
      options.bias->shape = {kCols};
      options.bias->data = static_cast<float*>(all.data) + i * kCols;
      const auto one = a.member(i).value(), weight = b.member(i).value();
      if (one.rows() == 0) continue;
      const std::vector<float> want = expected(one, weight, options);
      const auto* got = static_cast<const float*>(out.data) + offsets_[std::size_t(i)] * kCols;
      EXPECT_EQ(std::memcmp(got, want.data(), want.size() * 4), 0) << kind << " member " << i;
    }
    const Octets rest = bytes_at(static_cast<float*>(out.data) + 162 * kCols, kHidden * kCols * 4);
    EXPECT_EQ(rest, Octets(rest.size(), variants::DeviceBuffer::kPoison));
  }
}

}  // namespace
}  // namespace diecast
