// fp4_dequantize, compute_fp4_scales and the fake quantizers as a caller has them, on this
// processor: shapes, typed errors, and the edges of ModelOpt's formulas.
#include <diecast/diecast.h>
#include <diecast/ops/reference/dequantize_nvfp4.h>
#include <diecast/ops/reference/fp4_fake.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "ops/host_device_test.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Host memory is the host device's memory.
Tensor view(std::vector<float>& values, const Shape& shape) {
  return {values.data(), DType::f32, shape, 0, nullptr};
}

class Fp4Ops : public HostDeviceTest {
 protected:
  void SetUp() override {
    HostDeviceTest::SetUp();
    options_.scratch = &scratch_;
    options_.device = device_;
  }

  // x under amaxes, static, in x's shape.
  std::vector<float> fake(std::vector<float> x, std::vector<float> amax) {
    std::vector<float> out(x.size());
    const Shape shape{static_cast<std::int64_t>(x.size())};
    const Shape blocks{static_cast<std::int64_t>(amax.size())};
    static_blockwise_fp4_fake_quant(*runtime_, view(x, shape), view(amax, blocks), view(out, shape),
                                    options_)
        .value();
    return out;
  }

  std::shared_ptr<Runtime> runtime_ = test_runtime();
  float scratch_ = 0;
  Fp4ScaleOptions options_;
};

TEST_F(Fp4Ops, ScalesHaveTheShapeOfTheirAmaxesAndFindTheLargest) {
  std::vector<float> amax = {1, 2, 3, 4, 5, 6, 0, 0.001f}, scales(8);
  for (const Shape& shape : {Shape{8}, Shape{2, 4}, Shape{2, 2, 2}, Shape{8, 1}}) {
    compute_fp4_scales(*runtime_, view(amax, shape), view(scales, shape), options_).value();
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(scales[i], reference::fp4_scale(amax[i], 6.0f, reference::Fp8Conversion::eager));
    }
  }
  EXPECT_EQ(scratch_, 6.0f);
  const float given = 12.0f;
  options_.global_amax = &given;
  compute_fp4_scales(*runtime_, view(amax, {8}), view(scales, {8}), options_).value();
  EXPECT_EQ(scales[0], reference::fp4_scale(1, 12.0f, reference::Fp8Conversion::eager));
  options_.quantize_block_scales = false;
  compute_fp4_scales(*runtime_, view(amax, {8}), view(scales, {8}), options_).value();
  EXPECT_EQ(scales[4], 5.0f * (1.0f / 6.0f));
}

TEST_F(Fp4Ops, ExpertsOfThreeDimensionsAreTheirRowsOneByOne) {
  std::vector<float> x(3 * 4 * 32), amax(3 * 4 * 2), out(x.size()), one(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 3.0f;
  for (std::size_t i = 0; i < amax.size(); ++i) amax[i] = 0.5f + static_cast<float>(i) * 0.1f;
  const float global = 3.0f;
  options_.global_amax = &global;
  for (const Shape& blocks : {Shape{3, 4, 2}, Shape{24}, Shape{12, 2}, Shape{24, 1}}) {
    static_blockwise_fp4_fake_quant(*runtime_, view(x, {3, 4, 32}), view(amax, blocks),
                                    view(out, {3, 4, 32}), options_)
        .value();
    for (std::size_t row = 0; row < 12; ++row) {
      std::vector<float> row_x(x.begin() + static_cast<std::ptrdiff_t>(row * 32),
                               x.begin() + static_cast<std::ptrdiff_t>(row * 32 + 32));
      std::vector<float> row_amax = {amax[2 * row], amax[2 * row + 1]};
      static_blockwise_fp4_fake_quant(*runtime_, view(row_x, {32}), view(row_amax, {2}),
                                      view(one, {32}), options_)
          .value();
      EXPECT_EQ(std::memcmp(one.data(), &out[row * 32], 128), 0) << row;
    }
  }
}

TEST_F(Fp4Ops, EveryBlockSizeFollowsFromTheCounts) {
  std::vector<float> x(256), out(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<float>(i)) * 7.0f;
  for (const std::size_t block : {8u, 16u, 32u, 64u, 128u}) {
    std::vector<float> amax(256 / block, 7.0f);
    amax[0] = 3.0f;
    out = fake(x, amax);
    for (std::size_t i = 0; i < 256; ++i) {
      const float p = reference::fp4_scale(amax[i / block], 7.0f, reference::Fp8Conversion::eager);
      ASSERT_EQ(out[i], reference::fp4_fake_static(x[i], p)) << block << " " << i;
    }
  }
}

TEST_F(Fp4Ops, EveryBlockSizeIsCalibratedByItsAmaxes) {
  std::vector<float> x(3 * 256), found(x.size() / 8), out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<float>(i * i)) * 7.0f;
  AmaxOptions options;
  options.per = AmaxPer::block;
  options.device = device_;
  for (const int block : {8, 16, 32, 64, 128}) {
    options.block = block;
    amax(*runtime_, view(x, {3, 256}), found.data(), options).value();
    std::vector<float> want(x.size() / static_cast<std::size_t>(block));
    for (std::size_t i = 0; i < x.size(); ++i) {
      float& largest = want[i / static_cast<std::size_t>(block)];
      largest = std::max(largest, std::fabs(x[i]));
    }
    EXPECT_EQ(std::memcmp(found.data(), want.data(), want.size() * 4), 0) << block;
    const Shape blocks{static_cast<std::int64_t>(want.size())};
    static_blockwise_fp4_fake_quant(*runtime_, view(x, {3, 256}), view(found, blocks),
                                    view(out, {3, 256}), options_)
        .value();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LT(std::fabs(out[i] - x[i]), 1.3f) << i;
  }
  options.block = 24;
  EXPECT_EQ(amax(*runtime_, view(x, {3, 256}), found.data(), options).error().code,
            ErrorCode::value_not_allowed);
  options.block = 32;
  options.per = AmaxPer::row;
  EXPECT_EQ(amax(*runtime_, view(x, {3, 256}), found.data(), options).error().code,
            ErrorCode::constraint_violated);
}

TEST_F(Fp4Ops, CountsThatDoNotFitAreTypedErrors) {
  std::vector<float> x(96), amax(5), out(96);
  const auto message = [&](std::int64_t blocks) {
    return static_blockwise_fp4_fake_quant(*runtime_, view(x, {3, 32}), view(amax, {blocks}),
                                           view(out, {3, 32}), options_)
        .error()
        .message();
  };
  EXPECT_EQ(message(5),
            "diecast: shape_mismatch: static_blockwise_fp4_fake_quant: amax has 5 entries for 96 "
            "elements of x: no whole number of elements a block\n"
            "  fix: numel(amax) * BLOCK = numel(x)");
  EXPECT_EQ(
      message(4),
      "diecast: value_not_allowed: static_blockwise_fp4_fake_quant: amax has 4 entries for 96 "
      "elements of x: BLOCK = 24\n"
      "  fix: blocks have 8, 16, 32, 64 or 128 elements");
  options_.scratch = nullptr;
  EXPECT_EQ(message(3),
            "diecast: missing_buffer: static_blockwise_fp4_fake_quant: neither global_amax nor "
            "scratch is given\n"
            "  fix: pass global_amax, or 4 bytes of device memory as scratch to find it in");
  Tensor apart = view(x, {3, 16});
  apart.row_stride = 32;
  options_.scratch = &scratch_;
  EXPECT_EQ(static_blockwise_fp4_fake_quant(*runtime_, apart, view(amax, {3}), view(out, {3, 16}),
                                            options_)
                .error()
                .code,
            ErrorCode::shape_mismatch);
  EXPECT_EQ(fp4_fake_quant_block(*runtime_, view(x, {3, 32}), amax.data(), view(out, {3, 32}),
                                 {24, device_})
                .error()
                .code,
            ErrorCode::value_not_allowed);
}

TEST_F(Fp4Ops, ScalesOfAnotherShapeAreRefused) {
  std::vector<float> amax(8, 1.0f), scales(8);
  EXPECT_EQ(compute_fp4_scales(*runtime_, view(amax, {2, 4}), view(scales, {8}), options_)
                .error()
                .message(),
            "diecast: shape_mismatch: compute_fp4_scales: scales is [8], not [2, 4]\n"
            "  fix: pass scales with shape [2, 4]");
}

TEST_F(Fp4Ops, APreparedOpReadsNoAmaxThatIsNotThere) {
  const auto op = PreparedStaticFp4FakeQuant::prepare(*runtime_, device_,
                                                      {.in = DType::f32,
                                                       .out = DType::f32,
                                                       .aligned = false,
                                                       .scale = Fp4Scale::unquantized,
                                                       .global_given = true})
                      .value();
  std::vector<float> x(96), amax(6), out(96);
  const auto outcome = [&](const Shape& blocks) {
    const auto done = op.run(view(x, {96}), view(amax, blocks), nullptr, view(out, {96}), {});
    return done ? "ok" : done.error().message();
  };
  EXPECT_EQ(outcome({2, 3}), "ok");
  for (const std::int64_t blocks : {0, 5, 12}) {
    EXPECT_EQ(outcome({blocks}),
              "diecast: shape_mismatch: static_blockwise_fp4_fake_quant: amax has " +
                  std::to_string(blocks) +
                  " entries for 96 elements of x in blocks of 16\n"
                  "  fix: numel(amax) * BLOCK = numel(x)");
  }
}

TEST_F(Fp4Ops, SignsZerosAndNaNAreUpstreams) {
  std::vector<float> x(16, 0.0f);
  x[0] = -0.0f, x[1] = -0.01f, x[2] = kNaN, x[3] = kInf, x[4] = -kInf, x[5] = 6.0f;
  options_.quantize_block_scales = false;
  const auto out = fake(x, {6.0f});
  EXPECT_FALSE(std::signbit(out[0]));
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_FALSE(std::signbit(out[1]));  // a negative that rounds to zero
  EXPECT_EQ(out[2], -6.0f);            // NaN
  EXPECT_EQ(out[3], 6.0f);
  EXPECT_EQ(out[4], -6.0f);
  for (const float zero : fake(x, {0.0f})) EXPECT_EQ(zero, 0.0f);  // a scale of 0 wipes the block
  EXPECT_EQ(fake(x, {kInf})[5], 6.0f);                             // 1 takes its place
  EXPECT_EQ(fake(x, {kNaN})[5], 6.0f);
  std::vector<float> cast(16);
  static_blockwise_fp4_cast(*runtime_, view(x, {16}), view(cast, {16}), {device_}).value();
  EXPECT_EQ(cast, out);
}

TEST_F(Fp4Ops, ANaNAmongTheAmaxesIsTheirLargest) {
  std::vector<float> amax = {1, kNaN, 3}, scales(3);
  compute_fp4_scales(*runtime_, view(amax, {3}), view(scales, {3}), options_).value();
  for (const float scale : scales) EXPECT_TRUE(std::isnan(scale));
}

TEST_F(Fp4Ops, DynamicScalesBelowTheThresholdBecomeOne) {
  std::vector<float> x(48, 0.0f), out(48);
  x[0] = 1e-3f, x[16] = 5e-5f, x[32] = 1e-9f;
  const float global = 1e-3f;
  fp4_fake_quant_block(*runtime_, view(x, {3, 16}), &global, view(out, {3, 16}), {16, device_})
      .value();
  EXPECT_EQ(out[0], reference::fp4_fake(1e-3f, reference::fp4_dynamic_scale(1e-3f, global)));
  EXPECT_GT(out[0], 9e-4f);
  EXPECT_EQ(out[16], 0.0f);  // a scale below 1e-5 is 1, under which 5e-5 rounds to 0
  EXPECT_EQ(out[32], 0.0f);
}

// Any N, also odd ones and ones that no tile divides; rows apart; all tiles the same bits.
TEST_F(Fp4Ops, DequantizesAnySizeUnderEveryTile) {
  for (const std::int64_t cols : {1, 7, 16, 34, 130, 300}) {
    for (const int block : {8, 16, 32, 64, 128}) {
      const std::int64_t rows = 5, bytes = (cols + 1) / 2, blocks = (cols + block - 1) / block;
      reference::PackedNvfp4 q{rows, cols, block, 448, false, bytes, {}, {}};
      for (std::int64_t i = 0; i < rows * bytes; ++i) {
        q.codes.push_back(static_cast<std::uint8_t>(i * 37));
      }
      for (std::int64_t i = 0; i < rows * blocks; ++i) {
        q.scales.push_back(static_cast<std::uint8_t>(i * 29 % 127));
      }
      const float global = 0.37f;
      for (const int tile : {64, 128, 256, 1024}) {
        std::vector<float> out(static_cast<std::size_t>(rows * cols));
        // Exactly as large as they are: a sanitizer sees any read behind the end.
        const Tensor packed{q.codes.data(), DType::u8, {rows, bytes}, 0, nullptr};
        const Tensor scale{q.scales.data(), DType::e4m3, {rows, blocks}, 0, nullptr};
        fp4_dequantize(*runtime_, packed, scale, &global, view(out, {rows, cols}),
                       {block, tile, device_})
            .value();
        for (std::int64_t i = 0; i < rows * cols; ++i) {
          ASSERT_EQ(
              out[static_cast<std::size_t>(i)],
              reference::dequantized(q, reference::Global::decode, {global}, i / cols, i % cols));
        }
      }
    }
  }
}

TEST_F(Fp4Ops, DequantizeNamesTheShapesThatDoNotFit) {
  std::vector<std::uint8_t> bytes(64);
  std::vector<float> out(128);
  const float global = 1;
  const auto message = [&](std::int64_t packed_cols, std::int64_t scale_cols, int block, int tile) {
    const Tensor packed{bytes.data(), DType::u8, {4, packed_cols}, 0, nullptr};
    const Tensor scale{bytes.data(), DType::e4m3, {4, scale_cols}, 0, nullptr};
    return fp4_dequantize(*runtime_, packed, scale, &global, view(out, {4, 32}),
                          {block, tile, device_})
        .error()
        .message();
  };
  EXPECT_EQ(message(15, 2, 16, 128),
            "diecast: shape_mismatch: fp4_dequantize: packed is [4, 15], not [4, 16]\n"
            "  fix: pass packed with 4 rows of 16");
  EXPECT_EQ(message(16, 3, 16, 128),
            "diecast: shape_mismatch: fp4_dequantize: scale is [4, 3], not [4, 2]\n"
            "  fix: pass scale with 4 rows of 2");
  EXPECT_EQ(message(16, 2, 24, 128),
            "diecast: value_not_allowed: fp4_dequantize: block_size = 24\n"
            "  fix: block_size = 8, 16, 32, 64 or 128");
  EXPECT_EQ(message(16, 2, 16, 0),
            "diecast: value_not_allowed: fp4_dequantize: tile_size = 0\n"
            "  fix: tile_size = 64 to 1024");
}

}  // namespace
}  // namespace diecast
