// What holds of stochastic rounding on any device: the mean over many offsets is the value, the
// state is read at each launch, and both sides of a matrix draw their own numbers.
#pragma once

#include <diecast/diecast.h>
#include <diecast/ops/reference/nvfp4_sides.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/test_runtime.h"

namespace diecast::testing {

// A bf16 matrix, its output along rows and the state, in memory of a device.
class StochasticMatrix {
 public:
  static constexpr std::int64_t kRows = 48, kCols = 64, kBlocks = kRows * kCols / 16;

  explicit StochasticMatrix(std::shared_ptr<Device> device)
      : device_(std::move(device)),
        x_(*device_, kRows * kCols * 2),
        codes_(*device_, kBlocks * 8),
        scales_(*device_, kBlocks),
        amax_(*device_, 4),
        state_(*device_, 16) {
    std::mt19937 random(20);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < kRows * kCols; ++i) {
      reference::store(values_.data(), DType::bf16, i, normal(random));
    }
    device_->copy_to_device(x_.data_pointer(), values_.data(), values_.size() * 2, {}).value();
  }

  Tensor x() const { return {x_.data_pointer(), DType::bf16, Shape{kRows, kCols}}; }
  Tensor x_on_host() { return {values_.data(), DType::bf16, Shape{kRows, kCols}}; }
  QuantizedTensor out() const {
    QuantizedTensor out;
    out.shape = Shape{kRows, kCols};
    out.rowwise = out.rowwise_sizes().value();
    out.rowwise.data = codes_.data_pointer();
    out.rowwise.scale = scales_.data_pointer();
    out.rowwise.amax = reinterpret_cast<float*>(amax_.data_pointer());
    return out;
  }
  QuantizeNvfp4Options options() const {
    QuantizeNvfp4Options options;
    options.device = device_;
    options.rng_state = reinterpret_cast<const std::int64_t*>(state_.data_pointer());
    return options;
  }
  void set_state(reference::RandomState state) const {
    device_->copy_to_device(state_.data_pointer(), &state, sizeof state, {}).value();
    device_->synchronize({}).value();
  }
  std::vector<std::uint8_t> quantized(reference::RandomState state) const {
    set_state(state);
    quantize_nvfp4(*test_runtime(), x(), out(), options()).value();
    return codes_.bytes();
  }
  std::vector<std::uint8_t> codes() const { return codes_.bytes(); }
  reference::Nvfp4 expected(std::optional<reference::RandomState> state) {
    reference::Nvfp4Options options;
    options.random = state;
    return reference::quantize_nvfp4(x_on_host(), options,
                                     reference::amax(x_on_host(), options).value())
        .value();
  }

 private:
  std::shared_ptr<Device> device_;
  std::vector<std::uint16_t> values_ = std::vector<std::uint16_t>(kRows * kCols);
  variants::DeviceBuffer x_, codes_, scales_, amax_, state_;
};

inline void expect_state_is_read_at_each_launch(const std::shared_ptr<Device>& device) {
  StochasticMatrix matrix(device);
  const auto first = matrix.quantized({1, 0}), second = matrix.quantized({1, 1});
  EXPECT_NE(first, second);
  EXPECT_NE(first, matrix.quantized({2, 0}));
  EXPECT_EQ(first, matrix.quantized({1, 0}));
  EXPECT_EQ(first, matrix.expected(reference::RandomState{1, 0}).codes);
  EXPECT_EQ(second, matrix.expected(reference::RandomState{1, 1}).codes);
}

// The mean of n roundings of y is off by less than five and a half standard deviations (at most
// step / 2 / sqrt(n) each) and the 1/256 of a step that eight random bits leave out. Were the
// roundings other than that, one element in 10 million would fail by chance: all 3,072 pass
// together with a confidence of 0.9999.
inline void expect_means_converge(const std::shared_ptr<Device>& device, int roundings) {
  StochasticMatrix matrix(device);
  const reference::Nvfp4 nearest = matrix.expected(std::nullopt);
  const float encode = reference::te_encode_scale(nearest.amax[0]);
  std::vector<double> sums(StochasticMatrix::kRows * StochasticMatrix::kCols);
  for (int i = 0; i < roundings; ++i) {
    const auto codes = matrix.quantized({77, static_cast<std::uint64_t>(i)});
    for (std::size_t e = 0; e < sums.size(); ++e) {
      const auto code =
          static_cast<std::uint8_t>(e % 2 == 0 ? codes[e / 2] % 16 : codes[e / 2] / 16);
      sums[e] += static_cast<double>(reference::decode_e2m1(code));
    }
  }
  const Tensor x = matrix.x_on_host();
  int beyond_nearest = 0;
  for (std::size_t e = 0; e < sums.size(); ++e) {
    const float factor = reference::te_encode_factor(nearest.scales[e / 16], encode);
    const float value = reference::load(x.data, x.dtype, static_cast<std::int64_t>(e)) * factor;
    const double y = std::fmax(-6.0, std::fmin(6.0, static_cast<double>(value)));
    const double step = std::fabs(y) >= 4 ? 2 : std::fabs(y) >= 2 ? 1 : 0.5;
    const double off = std::fabs(sums[e] / roundings - y);
    EXPECT_LE(off, step * (5.5 / 2 / std::sqrt(roundings) + 1.0 / 256)) << "element " << e;
    beyond_nearest +=
        std::fabs(static_cast<double>(reference::decode_e2m1(reference::encode_e2m1(value))) - y) >
        off;
  }
  EXPECT_GT(beyond_nearest, 2400);  // most means are nearer than the nearest code
}

}  // namespace diecast::testing
