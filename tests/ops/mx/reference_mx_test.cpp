// The reference of the MX formats: worked examples, the edges of its two profiles, and the vectors
// of another implementation.
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>
#include <ops/host_matrix.h>
#include <ops/second_formulations.h>

#include <cfloat>
#include <cmath>

#if __has_include(<nlohmann/json.hpp>)
#include <golden_vectors.h>
#endif

namespace diecast::reference {
namespace {

using Bytes = std::vector<std::uint8_t>;
using second::kInf;
using second::kNaN;

constexpr MxFormula kTe{Format::mxfp8_e4m3, MxMode::rceil, false};

// The first codes of a block of these values and zeros, its scale byte before them.
Bytes quantized(const MxFormula& formula, std::vector<float> values) {
  const std::size_t count = values.size();
  values.resize(32);
  HostMatrix x(DType::f32, 1, values);
  const MxSide side = quantize_mx(x.view(), formula, false, false).value();
  Bytes out = side.scales;
  const std::size_t bytes = formula.format == Format::mxfp4 ? (count + 1) / 2 : count;
  out.insert(out.end(), side.data.begin(), side.data.begin() + static_cast<std::ptrdiff_t>(bytes));
  return out;
}

TEST(ReferenceMx, QuantizesTheWorkedExamplesOfTe) {
  EXPECT_EQ(quantized(kTe, {3, -1.5f, .01f, 1.75f}), (Bytes{120, 0x7C, 0xF4, 0x3A, 0x76}));
  EXPECT_EQ(quantized(kTe, {1, .5f, -.25f, .1f}), (Bytes{119, 0x78, 0x70, 0xE8, 0x5D}));
  EXPECT_EQ(quantized(kTe, {449, -448, 1, 0}), (Bytes{128, 0x76, 0xF6, 0x30, 0x00}));
  EXPECT_EQ(quantized(kTe, {0, -0.0f}), (Bytes{0, 0x00, 0x80}));
  EXPECT_EQ(quantized(kTe, {0x1p-120f, 0x1p-121f, 0, -0x1p-120f}),
            (Bytes{0, 0x70, 0x68, 0x00, 0xF0}));
  EXPECT_EQ(quantized(kTe, {kNaN, 448, -kNaN}), (Bytes{127, 0x7F, 0x7E, 0x7F}));
  EXPECT_EQ(quantized(kTe, {kInf, 1, -kInf}), (Bytes{254, 0x7E, 0x00, 0xFE}));
}

TEST(ReferenceMx, RoundsTheQuotientUpUnderTe) {
  const std::pair<float, int> table[] = {{448, 127},
                                         {second::float_of(0x43E00001), 128},
                                         {449, 128},
                                         {second::float_of(0x43DFFFFF), 127},
                                         {1, 119},
                                         {.875f, 118},
                                         {1.75f, 119},
                                         {3.5f, 120},
                                         {7, 121},
                                         {0, 0},
                                         {448 * 0x1p-126f, 1},
                                         {0x1p-127f, 0},
                                         {kInf, 254},
                                         {3e38f, 247},
                                         {kNaN, 255}};
  for (const auto& [amax, byte] : table) EXPECT_EQ(mx_scale(kTe, amax), byte) << amax;
  const MxFormula e5m2{Format::mxfp8_e5m2, MxMode::rceil, false};
  EXPECT_EQ(mx_scale(e5m2, 57344), 127);
  EXPECT_EQ(mx_scale(e5m2, std::nextafter(57344.0f, kInf)), 128);
}

TEST(ReferenceMx, AScaledMaximumStaysWithinTheFormatUnderTe) {
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2}) {
    const MxFormula formula{format, MxMode::rceil, false};
    const float largest = format == Format::mxfp8_e4m3 ? 448.0f : 57344.0f;
    for (int k = -126; k < 112; ++k) {
      const float at = std::ldexp(largest, k);
      if (!std::isfinite(at)) continue;
      for (const float amax : {std::nextafter(at, 0.0f), at, std::nextafter(at, kInf)}) {
        const std::uint8_t scale = mx_scale(formula, amax);
        EXPECT_LE(std::ldexp(amax, 127 - scale), largest) << amax;
        EXPECT_EQ(scale, amax > at ? k + 128 : k + 127) << amax;
      }
    }
  }
}

TEST(ReferenceMx, HasFourModesUnderTorchao) {
  const auto scale = [](MxMode mode, float amax, Format format = Format::mxfp8_e4m3) {
    return int{mx_scale({format, mode, true}, amax)};
  };
  // 1.9 is above 2 - 1/16, where E4M3 would round it to 2; E2M1 does so from 1.75 on.
  EXPECT_EQ(scale(MxMode::floor, 1.9f), 119);
  EXPECT_EQ(scale(MxMode::ceil, 1.9f), 120);
  EXPECT_EQ(scale(MxMode::even, 1.9f), 119);
  EXPECT_EQ(scale(MxMode::even, 1.9375f), 120);
  EXPECT_EQ(scale(MxMode::even, std::nextafter(1.9375f, 0.0f)), 119);
  EXPECT_EQ(scale(MxMode::even, 1.75f, Format::mxfp4), 126);
  EXPECT_EQ(scale(MxMode::even, 1.7499f, Format::mxfp4), 125);
  EXPECT_EQ(scale(MxMode::rceil, 1.75f), 119);
  for (const MxMode mode : {MxMode::floor, MxMode::ceil, MxMode::even}) {
    EXPECT_EQ(scale(mode, 1.0f), 119);
    EXPECT_EQ(scale(mode, 1.0f, Format::mxfp8_e5m2), 112);
    EXPECT_EQ(scale(mode, 1.0f, Format::mxfp4), 125);
    EXPECT_EQ(scale(mode, 0.0f), 0);
    EXPECT_EQ(scale(mode, FLT_TRUE_MIN), 0);
    EXPECT_EQ(scale(mode, 0x1p-119f), 0);
    EXPECT_EQ(scale(mode, 0x1p-118f), 1);
    EXPECT_EQ(scale(mode, FLT_MAX), mode == MxMode::floor ? 246 : mode == MxMode::ceil ? 247 : 255);
  }
}

TEST(ReferenceMx, MakesABlockWithoutAFiniteMaximumNaNUnderTorchao) {
  for (const MxMode mode : {MxMode::rceil, MxMode::floor, MxMode::ceil, MxMode::even}) {
    for (const float bad : {kInf, -kInf, kNaN, -kNaN}) {
      EXPECT_EQ(quantized({Format::mxfp8_e4m3, mode, true}, {1, bad, 0}),
                (Bytes{255, 0x7F, 0x7F, 0x7F}));
      EXPECT_EQ(quantized({Format::mxfp8_e5m2, mode, true}, {1, bad}), (Bytes{255, 0x7F, 0x7F}));
      EXPECT_EQ(quantized({Format::mxfp4, mode, true}, {1, bad}), (Bytes{255, 0x77}));
    }
  }
}

TEST(ReferenceMx, ColumnsAreTheRowsOfTheTranspose) {
  HostMatrix x(DType::bf16, 40, 33), t(DType::bf16, 33, 40);
  x.fill([](auto row, auto col) { return std::sin(static_cast<float>(row * 33 + col)); });
  t.fill([&](auto row, auto col) { return x.at(col, row); });
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp4}) {
    const MxFormula formula{format, MxMode::floor, true};
    const MxSide down = quantize_mx(x.view(), formula, true, false).value();
    const MxSide across = quantize_mx(t.view(), formula, false, false).value();
    EXPECT_EQ(down.scales, across.scales);
    if (format == Format::mxfp4) {
      EXPECT_EQ(down.data, across.data);
      continue;
    }
    for (std::size_t i = 0; i < down.data.size(); ++i) {
      ASSERT_EQ(down.data[i], across.data[i % 33 * 40 + i / 33]);  // FP8 stays in x's order
    }
  }
}

TEST(ReferenceMx, SquareBlocksGiveBothDirectionsTheSameCodes) {
  HostMatrix x(DType::f32, 40, 70);
  x.fill([](auto row, auto col) { return std::cos(static_cast<float>(row * 70 + col)); });
  const MxSide across = quantize_mx(x.view(), kTe, false, true).value();
  const MxSide down = quantize_mx(x.view(), kTe, true, true).value();
  EXPECT_EQ(across.data, down.data);
  for (std::size_t row = 0; row < 40; ++row) {
    for (std::size_t col = 0; col < 70; ++col) {
      ASSERT_EQ(across.scales[row * 3 + col / 32], down.scales[col * 2 + row / 32]);
    }
  }
}

TEST(ReferenceMx, ValuesAreCodesTimesThePowerOfTwo) {
  EXPECT_EQ(mx_value(Format::mxfp8_e4m3, 0x7E, 127), 448.0f);
  EXPECT_EQ(mx_value(Format::mxfp8_e5m2, 0xFB, 128), -114688.0f);
  EXPECT_EQ(mx_value(Format::mxfp4, 0xF, 126), -3.0f);
  EXPECT_EQ(mx_value(Format::mxfp8_e4m3, 0x38, 0), 0x1p-127f);
  EXPECT_TRUE(std::isnan(mx_value(Format::mxfp4, 1, 255)));
  EXPECT_TRUE(std::isnan(mx_value(Format::mxfp8_e4m3, 0x7F, 127)));
}

#if __has_include(<nlohmann/json.hpp>)
TEST(ReferenceMx, EqualsEveryVectorToTheBit) {
  const golden::File file = golden::read("mx_torchao");
  EXPECT_EQ(file.cases.size(), 120u);
  for (const golden::Case& one : file.cases) {
    SCOPED_TRACE(one.options.dump());
    const std::string elem = one.options.at("elem"), mode = one.options.at("mode");
    const MxFormula formula{elem == "e4m3"   ? Format::mxfp8_e4m3
                            : elem == "e5m2" ? Format::mxfp8_e5m2
                                             : Format::mxfp4,
                            mode == "RCEIL"   ? MxMode::rceil
                            : mode == "FLOOR" ? MxMode::floor
                            : mode == "CEIL"  ? MxMode::ceil
                                              : MxMode::even,
                            true};
    golden::Vector x = one["x"];
    const Tensor view{x.bytes.data(),
                      x.dtype == "F32" ? DType::f32 : DType::bf16,
                      {x.shape.at(0), x.shape.at(1)}};
    const MxSide side = quantize_mx(view, formula, false, false).value();
    EXPECT_EQ(side.scales, one["scale"].bytes);
    EXPECT_EQ(side.data, one["data"].bytes);
  }
}
#endif

}  // namespace
}  // namespace diecast::reference
