// The op on the host: weights read back by an identity, sums of integers, a bound against f64, and
// rows that do not depend on how many come with them.
#include <diecast/diecast.h>
#include <diecast/ops/reference/linear.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/packed_linear.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/host_device_test.h"
#include "ops/host_matrix.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using reference::CheckpointWeight;

class LinearOnHost : public HostDeviceTest {
 protected:
  // Any codes under scales of `least` and the `count` - 1 after it.
  static CheckpointWeight drawn(Format format, std::int64_t rows, std::int64_t cols, unsigned least,
                                unsigned count) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rows + cols));
    CheckpointWeight out{format, rows, cols, {}, {}};
    for (std::int64_t i = 0; i < rows * cols / 2; ++i)
      out.codes.push_back(static_cast<std::uint8_t>(random()));
    for (std::int64_t i = 0; i < rows * out.blocks(); ++i)
      out.scales.push_back(static_cast<std::uint8_t>(least + random() % count));
    return out;
  }
  // What it was packed to lives as long as the test.
  PackedLinear packed(CheckpointWeight weight, Gated gated = Gated::none) {
    auto& bytes = kept_.emplace_back(
        std::make_unique<reference::PackedWeight>(reference::pack_linear(weight, gated)));
    return {.format = weight.format,
            .gated = gated,
            .shape = Shape{weight.rows, weight.cols},
            .data = bytes->bytes.data(),
            .bytes = static_cast<std::int64_t>(bytes->bytes.size())};
  }
  HostMatrix result(HostMatrix& x, const PackedLinear& weight, float factor,
                    LinearOptions options = {}) {
    options.device = device_;
    const std::int64_t cols = is_gated(options.activation) ? weight.rows() / 2 : weight.rows();
    HostMatrix out(DType::f32, x.rows, cols);
    linear(*runtime_, x.view(), weight, &factor, out.view(), options).value();
    return out;
  }
  static HostMatrix normal(DType type, std::int64_t rows, std::int64_t cols) {
    std::mt19937_64 random(7);
    std::normal_distribution<float> draw;
    return HostMatrix(type, rows, cols).fill([&](auto, auto) { return draw(random); });
  }

  const std::shared_ptr<Runtime> runtime_ = test_runtime();
  std::vector<std::unique_ptr<reference::PackedWeight>> kept_;
};

TEST_F(LinearOnHost, AnIdentityReadsEveryWeightBack) {
  for (const auto& [format, type] :
       {std::pair(Format::nvfp4, DType::bf16), {Format::mxfp4, DType::f16}}) {
    const bool mx = format == Format::mxfp4;
    const CheckpointWeight weight = drawn(format, 72, 160, mx ? 111 : 1, mx ? 25 : 126);
    HostMatrix x = HostMatrix(type, 160, 160).fill([](auto row, auto col) {
      return row == col ? 1.0f : 0.0f;
    });
    const HostMatrix out = result(x, packed(weight), 0x1p-3f);
    for (std::int64_t k = 0; k < 160; ++k)
      for (std::int64_t n = 0; n < 72; ++n)
        ASSERT_EQ(out.at(k, n), weight.value(n, k) * 0x1p-3f) << n << ", " << k;
  }
}

TEST_F(LinearOnHost, SumsOfIntegersAreExact) {
  // Scales of 2 and 4: weights are whole.
  CheckpointWeight weight = drawn(Format::nvfp4, 40, 320, 0x40, 2);
  for (auto& scale : weight.scales) scale = scale == 0x40 ? 0x40 : 0x48;
  std::mt19937_64 random(3);
  HostMatrix x = HostMatrix(DType::bf16, 9, 320).fill([&](auto, auto) {
    return static_cast<float>(static_cast<int>(random() % 17) - 8);
  });
  const HostMatrix out = result(x, packed(weight), 1.0f);
  for (std::int64_t m = 0; m < 9; ++m) {
    for (std::int64_t n = 0; n < 40; ++n) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < 320; ++k)
        sum +=
            static_cast<std::int64_t>(x.at(m, k)) * static_cast<std::int64_t>(weight.value(n, k));
      ASSERT_EQ(out.at(m, n), static_cast<float>(sum)) << m << ", " << n;
    }
  }
}

TEST_F(LinearOnHost, IsWithinTheBoundOfTheExactSum) {
  const CheckpointWeight weight = drawn(Format::nvfp4, 24, 4096, 1, 126);
  const int split = linear_split(24, 4096);
  EXPECT_EQ(split, 2);
  HostMatrix x = normal(DType::bf16, 3, 4096);
  x.set(1, 5, 1e6f), x.set(1, 4000, -1e6f);  // what nearly cancels
  const HostMatrix out = result(x, packed(weight), 0.75f);
  for (std::int64_t m = 0; m < 3; ++m) {
    for (std::int64_t n = 0; n < 24; ++n) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < 4096; ++k) {
        const double product = double{x.at(m, k)} * weight.value(n, k);
        sum += product, magnitude += std::abs(product);
      }
      const double bound = (4096 / 16 + split + 4) * 0x1p-22 * magnitude * 0.75;
      ASSERT_LE(std::abs(out.at(m, n) - sum * 0.75), bound) << m << ", " << n;
    }
  }
}

TEST_F(LinearOnHost, PartsAreAddedInTheirOrder) {
  const CheckpointWeight weight = drawn(Format::nvfp4, 24, 576, 1, 126);
  HostMatrix x = normal(DType::bf16, 2, 576);
  reference::Linear of;
  of.rows = 2, of.cols = 24, of.depth = 576;
  for (std::int64_t i = 0; i < 2 * 576; ++i) of.x.push_back(x.at(i / 576, i % 576));
  for (std::int64_t i = 0; i < 24 * 576; ++i) of.weights.push_back(weight.value(i / 576, i % 576));
  for (of.split = 1; of.split <= 8; of.split *= 2) {
    const HostMatrix out = result(x, packed(weight), 1.0f, {.split = of.split});
    for (std::int64_t m = 0; m < 2; ++m)
      for (std::int64_t n = 0; n < 24; ++n)
        ASSERT_EQ(out.at(m, n), reference::linear_sum(of, m, n)) << of.split << ": " << m << n;
  }
}

TEST_F(LinearOnHost, ARowDoesNotDependOnTheOthers) {
  const PackedLinear weight = packed(drawn(Format::nvfp4, 72, 320, 1, 126));
  HostMatrix x = normal(DType::bf16, 40, 320);
  const HostMatrix all = result(x, weight, 0.3f);
  for (std::int64_t rows = 1; rows < 40; ++rows) {
    HostMatrix some = HostMatrix(DType::bf16, rows, 320, 328).fill([&](auto row, auto col) {
      return x.at(39 - row, col);  // in another place, and apart
    });
    const HostMatrix out = result(some, weight, 0.3f);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t col = 0; col < 72; ++col)
        ASSERT_EQ(out.at(row, col), all.at(39 - row, col)) << rows << ": " << row << ", " << col;
  }
}

TEST_F(LinearOnHost, TheDeviceMayCountTheRows) {
  const PackedLinear weight = packed(drawn(Format::nvfp4, 40, 96, 1, 126));
  HostMatrix x = normal(DType::bf16, 19, 96), residual = normal(DType::f32, 19, 40);
  LinearOptions options{.residual = residual.view(), .device = device_};
  const HostMatrix all = result(x, weight, 0.3f, options);
  for (const std::int64_t count : {-1, 0, 1, 8, 18, 19, 20}) {
    const std::int64_t rows = std::clamp<std::int64_t>(count, 0, 19);
    HostMatrix some = HostMatrix(DType::bf16, 19, 96).fill([&](auto row, auto col) {
      return row < rows ? x.at(row, col) : NAN;
    });
    HostMatrix out = HostMatrix(DType::f32, 19, 40).fill([](auto, auto) { return -77.0f; });
    Tensor counted = some.view();
    counted.device_rows = &count;
    const float factor = 0.3f;
    linear(*runtime_, counted, weight, &factor, out.view(), options).value();
    for (std::int64_t row = 0; row < 19; ++row)
      for (std::int64_t col = 0; col < 40; ++col)
        ASSERT_EQ(out.at(row, col), row < rows ? all.at(row, col) : -77.0f) << count << ": " << row;
  }
}

TEST_F(LinearOnHost, GateAndUpMeetHoweverTheyLay) {
  const CheckpointWeight halves = drawn(Format::nvfp4, 48, 64, 0x30, 16);
  CheckpointWeight turns = halves;  // row 2 * i of gate, 2 * i + 1 of up
  for (std::int64_t row = 0; row < 48; ++row) {
    const std::int64_t from = row / 2 + row % 2 * 24;
    std::copy_n(halves.codes.begin() + from * 32, 32, turns.codes.begin() + row * 32);
    std::copy_n(halves.scales.begin() + from * 4, 4, turns.scales.begin() + row * 4);
  }
  HostMatrix x = normal(DType::bf16, 2, 64), bias = normal(DType::bf16, 1, 48);
  LinearOptions options{.activation = Activation::silu_and_mul};
  options.bias = bias.view();
  const HostMatrix one = result(x, packed(halves, Gated::halves), 0.01f, options);
  const HostMatrix other = result(x, packed(turns, Gated::alternate), 0.01f, options);
  for (std::int64_t m = 0; m < 2; ++m) {
    for (std::int64_t n = 0; n < 24; ++n) {
      ASSERT_EQ(one.at(m, n), other.at(m, n));
      double gate = bias.at(0, n), up = bias.at(0, n + 24);
      for (std::int64_t k = 0; k < 64; ++k) {
        gate += 0.01 * x.at(m, k) * halves.value(n, k);
        up += 0.01 * x.at(m, k) * halves.value(n + 24, k);
      }
      const double want = gate / (1 + std::exp(-gate)) * up;
      ASSERT_NEAR(one.at(m, n), want, 1e-5 * (1 + std::abs(want)));
    }
  }
}

// q, k and v with global scales of their own, in one weight.
TEST_F(LinearOnHost, PartsWithFactorsOfTheirOwnHaveTheirBits) {
  CheckpointWeight stack{Format::nvfp4, 0, 320, {}, {}};
  HostMatrix x = normal(DType::bf16, 3, 320);
  std::vector<float> factors;
  std::vector<HostMatrix> alone;
  for (const auto& [rows, factor] : {std::pair(64, 0.3f), {40, 0x1.23456p-9f}, {72, -7.1f}}) {
    const CheckpointWeight part = drawn(Format::nvfp4, rows, 320, 1, 126);
    alone.push_back(result(x, packed(part), factor));
    factors.insert(factors.end(), static_cast<std::size_t>(rows), factor);
    stack.rows += rows;
    stack.codes.insert(stack.codes.end(), part.codes.begin(), part.codes.end());
    stack.scales.insert(stack.scales.end(), part.scales.begin(), part.scales.end());
  }
  HostMatrix out(DType::f32, 3, stack.rows);
  linear(*runtime_, x.view(), packed(stack), factors.data(), out.view(),
         {.factors = Factors::parts, .fast = true, .settled = true, .device = device_})
      .value();
  std::int64_t first = 0;
  for (const HostMatrix& part : alone) {
    for (std::int64_t m = 0; m < 3; ++m)
      for (std::int64_t n = 0; n < part.cols; ++n)
        ASSERT_EQ(out.at(m, first + n), part.at(m, n)) << first << " + " << n;
    first += part.cols;
  }
}

TEST_F(LinearOnHost, GateAndUpMayHaveAFactorEach) {
  const PackedLinear weight = packed(drawn(Format::nvfp4, 48, 64, 0x30, 16), Gated::halves);
  HostMatrix x = normal(DType::bf16, 2, 64);
  std::vector<float> factors(2, 0.01f);
  LinearOptions options{.activation = Activation::silu_and_mul, .factors = Factors::parts};
  options.device = device_;
  const HostMatrix same = result(x, weight, 0.01f, {.activation = options.activation});
  HostMatrix out(DType::f32, 2, 24);
  linear(*runtime_, x.view(), weight, factors.data(), out.view(), options).value();
  for (std::int64_t i = 0; i < 48; ++i) EXPECT_EQ(out.at(i / 24, i % 24), same.at(i / 24, i % 24));
  factors[1] = 0.02f;  // up doubles what there is
  linear(*runtime_, x.view(), weight, factors.data(), out.view(), options).value();
  for (std::int64_t i = 0; i < 48; ++i)
    EXPECT_EQ(out.at(i / 24, i % 24), 2 * same.at(i / 24, i % 24)) << i;
}

TEST_F(LinearOnHost, RefusesWhatDoesNotFit) {
  const PackedLinear weight = packed(drawn(Format::nvfp4, 48, 64, 1, 126));
  HostMatrix x = normal(DType::bf16, 2, 64), out(DType::bf16, 2, 48), wide(DType::bf16, 2, 96);
  const float factor = 1;
  const auto refused = [&](const Tensor& of_x, const PackedLinear& of_weight, const Tensor& of_out,
                           LinearOptions options = {}, bool has_factor = true) {
    options.device = device_;
    const auto result =
        linear(*runtime_, of_x, of_weight, has_factor ? &factor : nullptr, of_out, options);
    return result ? ErrorCode::internal : result.error().code;
  };
  const auto changed = [](auto what, auto change) {
    change(what);
    return what;
  };
  const Tensor good = x.view(), to = out.view();
  EXPECT_EQ(refused(good, changed(weight, [](auto& w) { w.version = 0; }), to),
            ErrorCode::not_supported);
  EXPECT_EQ(refused(good, changed(weight, [](auto& w) { w.gated = Gated::halves; }), to),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refused(good, weight, to, {.activation = Activation::silu_and_mul}),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refused(changed(good, [](auto& t) { t.dtype = DType::f32; }), weight, to),
            ErrorCode::dtype_mismatch);
  EXPECT_EQ(refused(changed(good,
                            [](auto& t) {
                              t.shape = Shape{2, 32};
                            }),
                    weight, to),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(
      refused(changed(good, [](auto& t) { t.data = static_cast<char*>(t.data) + 2; }), weight, to),
      ErrorCode::misaligned);
  EXPECT_EQ(refused(changed(good, [](auto& t) { t.row_stride = 66; }), weight, to),
            ErrorCode::misaligned);
  EXPECT_EQ(refused(good, weight, wide.view()), ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(good, weight, changed(to, [](auto& t) { t.row_stride = 56; })),
            ErrorCode::not_supported);
  const std::int64_t two = 2;
  const Tensor counted = changed(to, [&](auto& t) { t.device_rows = &two; });
  EXPECT_EQ(refused(good, weight, counted), ErrorCode::not_supported);
  EXPECT_EQ(refused(good, weight, to, {.residual = counted}), ErrorCode::not_supported);
  EXPECT_EQ(refused(good, weight, to, {.bias = good}), ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(good, weight, to, {.residual = wide.view()}), ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(good, weight, to, {}, false), ErrorCode::missing_buffer);
  EXPECT_EQ(refused(good, weight, to, {.split = 3}), ErrorCode::value_not_allowed);
  const auto prepared = PreparedLinear::prepare(*runtime_, device_, {}).value();
  const Tensor of_f16 = changed(good, [](auto& t) { t.dtype = DType::f16; });
  EXPECT_EQ(prepared.run(of_f16, weight, &factor, to, {}, {}).error().code,
            ErrorCode::not_supported);
}

}  // namespace
}  // namespace diecast
