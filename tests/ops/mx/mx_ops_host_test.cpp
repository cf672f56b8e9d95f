// quantize_mx and dequantize_mx as a caller has them, on this processor: every output of the
// quantized tensor against the reference, all 16-bit patterns, and what holds of any block format.
#include <diecast/diecast.h>
#include <diecast/ops/reference/mx.h>
#include <gtest/gtest.h>

#include <cmath>

#include "how_many.h"
#include "ops/device_buffer.h"
#include "ops/host_device_test.h"
#include "ops/host_matrix.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;
using Bytes = std::vector<std::uint8_t>;

class QuantizeMx : public HostDeviceTest {
 protected:
  void* take(std::int64_t bytes) {
    memory_.push_back(std::make_unique<DeviceBuffer>(*device_, static_cast<std::size_t>(bytes)));
    return memory_.back()->data_pointer();
  }

  QuantizedTensor output(Format format, std::int64_t rows, std::int64_t cols, bool rowwise,
                         bool columnwise, bool square = false,
                         ScaleLayout layout = ScaleLayout::linear) {
    QuantizedTensor out;
    out.type.format = format;
    out.shape = Shape{rows, cols};
    out.type.square = square;
    out.type.layout = layout;
    out.type.profile = Profile::torchao;
    const auto allocate = [&](QuantizedSide side) {
      side.data = take(side.data_bytes);
      side.scale = take(side.scale_bytes);
      return side;
    };
    if (rowwise) out.rowwise = allocate(out.rowwise_sizes().value());
    if (columnwise) out.columnwise = allocate(out.columnwise_sizes().value());
    return out;
  }

  Bytes read(const void* from, std::int64_t bytes) {
    Bytes out(static_cast<std::size_t>(bytes));
    device_->copy_to_host(out.data(), from, out.size(), {}).value();
    device_->synchronize({}).value();
    return out;
  }

  std::shared_ptr<Runtime> runtime_ = test_runtime();
  std::vector<std::unique_ptr<DeviceBuffer>> memory_;
};

Bytes tiled(const Bytes& scales, ScaleLayout layout, std::int64_t rows, std::int64_t blocks) {
  Bytes out(static_cast<std::size_t>(quantized_scale_bytes(layout, rows, blocks * 32, 32).value()));
  for (std::int64_t i = 0; i < rows * blocks; ++i) {
    out[static_cast<std::size_t>(scale_offset(layout, i / blocks, i % blocks, blocks))] =
        scales[static_cast<std::size_t>(i)];
  }
  return out;
}

TEST_F(QuantizeMx, WritesWhatTheOutputHasInOneCall) {
  constexpr std::int64_t kRows = 70, kCols = 90;
  HostMatrix x(DType::f32, kRows, kCols);
  x.fill([](auto row, auto col) { return std::sin(static_cast<float>(row * 90 + col)) * 9.0f; });
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
    for (const bool square : {false, true}) {
      for (const auto layout : {ScaleLayout::s128x4, ScaleLayout::s8x4}) {
        const QuantizedTensor out = output(format, kRows, kCols, true, true, square, layout);
        quantize_mx(*runtime_, x.view(), out, {MxMode::even, device_}).value();
        const reference::MxFormula formula{format, reference::MxMode::even, true};
        const auto across = reference::quantize_mx(x.view(), formula, false, square).value();
        const auto down = reference::quantize_mx(x.view(), formula, true, square).value();
        EXPECT_EQ(read(out.rowwise.data, out.rowwise.data_bytes), across.data);
        EXPECT_EQ(read(out.columnwise.data, out.columnwise.data_bytes), down.data);
        EXPECT_EQ(read(out.rowwise.scale, out.rowwise.scale_bytes),
                  tiled(across.scales, layout, kRows, 3));
        EXPECT_EQ(read(out.columnwise.scale, out.columnwise.scale_bytes),
                  tiled(down.scales, layout, kCols, 3));
      }
    }
  }
}

TEST_F(QuantizeMx, TakesEverySixteenBitPattern) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    HostMatrix x(dtype, 2048, 32);
    auto* halves = reinterpret_cast<std::uint16_t*>(x.words.data());
    for (std::uint32_t i = 0; i < 0x10000; ++i) halves[i] = static_cast<std::uint16_t>(i * 40503u);
    for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
      for (const Profile profile : {Profile::te, Profile::torchao}) {
        if (format == Format::mxfp4 && profile == Profile::te) continue;
        QuantizedTensor out = output(format, 2048, 32, true, false);
        out.type.profile = profile;
        quantize_mx(*runtime_, x.view(), out, {MxMode::rceil, device_}).value();
        const bool nan_scale = profile == Profile::torchao;
        const auto want = reference::quantize_mx(
                              x.view(), {format, reference::MxMode::rceil, nan_scale}, false, false)
                              .value();
        EXPECT_EQ(read(out.rowwise.data, out.rowwise.data_bytes), want.data);
        EXPECT_EQ(read(out.rowwise.scale, out.rowwise.scale_bytes), want.scales);
      }
    }
  }
}

TEST_F(QuantizeMx, APowerOfTwoMovesScalesAndLeavesCodes) {
  HostMatrix x(DType::f32, 33, 64), y(DType::f32, 33, 64);
  x.fill([](auto row, auto col) { return std::cos(static_cast<float>(row * 64 + col)) + 2.0f; });
  y.fill([&](auto row, auto col) { return std::ldexp(x.at(row, col), 10); });
  for (const MxMode mode : {MxMode::rceil, MxMode::floor, MxMode::ceil, MxMode::even}) {
    const QuantizedTensor a = output(Format::mxfp4, 33, 64, true, false);
    const QuantizedTensor b = output(Format::mxfp4, 33, 64, true, false);
    quantize_mx(*runtime_, x.view(), a, {mode, device_}).value();
    quantize_mx(*runtime_, y.view(), b, {mode, device_}).value();
    EXPECT_EQ(read(a.rowwise.data, a.rowwise.data_bytes),
              read(b.rowwise.data, b.rowwise.data_bytes));
    Bytes scales = read(a.rowwise.scale, a.rowwise.scale_bytes);
    for (auto& byte : scales) byte = static_cast<std::uint8_t>(byte + 10);
    EXPECT_EQ(read(b.rowwise.scale, b.rowwise.scale_bytes), scales);
  }
}

TEST_F(QuantizeMx, WhatIsOnTheGridComesBack) {
  constexpr float kGrid[] = {0.0f, 0.5f, -1.0f, 1.5f, 2.0f, -3.0f, 4.0f, 6.0f};
  HostMatrix x(DType::bf16, 40, 70);
  x.fill(
      [&](auto row, auto col) { return kGrid[(row * 3 + col) % 8] * std::ldexp(1.0f, col / 32); });
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
    const QuantizedTensor q = output(format, 40, 70, true, false, false, ScaleLayout::s128x4);
    quantize_mx(*runtime_, x.view(), q, {MxMode::floor, device_}).value();
    HostMatrix back(DType::bf16, 40, 70);
    dequantize_mx(*runtime_, q, back.view(), {device_}).value();
    EXPECT_EQ(back.words, x.words);
  }
}

// Every day each two of format, layout and type; else all.
TEST_F(QuantizeMx, ColumnsComeBackAsTheReferenceHasThem) {
  constexpr std::int64_t kRows = 70, kCols = 90;
  HostMatrix x(DType::f32, kRows, kCols);
  x.fill([](auto row, auto col) { return std::sin(static_cast<float>(row * 90 + col)) * 9.0f; });
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
    const reference::MxFormula formula{format, reference::MxMode::even, true};
    const auto side = reference::quantize_mx(x.view(), formula, true, false).value();
    for (const auto layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
      const QuantizedTensor q = output(format, kRows, kCols, false, true, false, layout);
      quantize_mx(*runtime_, x.view(), q, {MxMode::even, device_}).value();
      int sum = static_cast<int>(format) + static_cast<int>(layout);
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        if (!testing::how_many(sum++ % 3 == 0, true, true)) continue;
        HostMatrix back(dtype, kRows, kCols), want(dtype, kRows, kCols);
        want.fill([&](auto row, auto col) {
          return reference::mx_element(side, format, true, kRows, kCols, row, col);
        });
        dequantize_mx(*runtime_, q, back.view(), {device_}).value();
        EXPECT_EQ(back.words, want.words) << word(format) << " " << word(layout);
      }
    }
  }
}

TEST_F(QuantizeMx, TheSideThatIsReadIsTheCallersWish) {
  HostMatrix x(DType::f32, 64, 64), back(DType::f32, 64, 64);
  x.fill([](auto row, auto) { return row == 0 ? 1000.0f : 0.5f; });
  const QuantizedTensor q = output(Format::mxfp4, 64, 64, true, true);
  quantize_mx(*runtime_, x.view(), q, {MxMode::floor, device_}).value();
  dequantize_mx(*runtime_, q, back.view(), {device_}).value();
  EXPECT_EQ(back.at(1, 5), 0.5f);  // its row has no outlier
  dequantize_mx(*runtime_, q, back.view(), {device_, true}).value();
  EXPECT_EQ(back.at(1, 5), 0.0f);  // its column has
  EXPECT_EQ(back.at(40, 5), 0.5f);

  using Request = PreparedDequantizeMx::Request;
  const auto prepared =
      PreparedDequantizeMx::prepare(*runtime_, device_, Request::of(q, back.view(), true)).value();
  QuantizedTensor rows = q;
  rows.columnwise = {};
  EXPECT_EQ(prepared.run(rows, back.view(), {}).error().message(),
            "diecast: not_supported: dequantize_mx: prepared for columnwise = true, x is rowwise "
            "only\n  fix: prepare with columnwise = false");
  rows.type.format = Format::nvfp4;
  rows.shape = Shape{0, 64};
  EXPECT_EQ(prepared.run(rows, back.view(), {}).error().message(),
            "diecast: not_supported: dequantize_mx: x is nvfp4\n"
            "  fix: this op reads mxfp8_e4m3, mxfp8_e5m2 and mxfp4");
}

// Rows of scales `gap` bytes apart, poison between them and none behind the last.
Bytes apart(const Bytes& dense, std::int64_t row_length, std::int64_t gap) {
  Bytes out;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    out.push_back(dense[i]);
    const bool last = i + 1 == dense.size();
    if ((i + 1) % static_cast<std::size_t>(row_length) == 0 && !last) {
      out.resize(out.size() + static_cast<std::size_t>(gap), DeviceBuffer::kPoison);
    }
  }
  return out;
}

// An op prepared for dense rows of scales takes those that are apart as well.
TEST_F(QuantizeMx, LinearScalesOfEitherDirectionMayBeApart) {
  constexpr std::int64_t kRows = 70, kCols = 90, kGap = 5;
  HostMatrix x(DType::bf16, kRows, kCols), back(DType::f32, kRows, kCols);
  x.fill([](auto row, auto col) { return std::sin(static_cast<float>(row * 90 + col)) * 9.0f; });
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
    const QuantizedTensor dense = output(format, kRows, kCols, true, true);
    quantize_mx(*runtime_, x.view(), dense, {MxMode::floor, device_}).value();
    QuantizedTensor strided = output(format, kRows, kCols, true, true);
    // Columnwise scales of FP8 are [3, 90], those of E2M1 [90, 3].
    const std::int64_t across = 3, down = format == Format::mxfp4 ? 3 : kCols;
    const Bytes rows = apart(read(dense.rowwise.scale, dense.rowwise.scale_bytes), across, kGap);
    const Bytes columns =
        apart(read(dense.columnwise.scale, dense.columnwise.scale_bytes), down, kGap);
    for (auto [side, bytes, length] : {std::tuple{&strided.rowwise, rows.size(), across},
                                       std::tuple{&strided.columnwise, columns.size(), down}}) {
      side->scale_bytes = static_cast<std::int64_t>(bytes);
      side->scale = take(side->scale_bytes);
      side->scale_stride = length + kGap;
    }
    const auto request = PreparedQuantizeMx::Request::of(x.view(), dense, MxMode::floor, false);
    const auto quantize = PreparedQuantizeMx::prepare(*runtime_, device_, request).value();
    quantize.run(x.view(), strided, {}).value();
    EXPECT_EQ(read(strided.rowwise.scale, strided.rowwise.scale_bytes), rows);
    EXPECT_EQ(read(strided.columnwise.scale, strided.columnwise.scale_bytes), columns);
    for (const bool columnwise : {false, true}) {
      HostMatrix want(DType::f32, kRows, kCols);
      const auto read_side = PreparedDequantizeMx::Request::of(dense, want.view(), columnwise);
      const auto dequantize = PreparedDequantizeMx::prepare(*runtime_, device_, read_side).value();
      dequantize.run(dense, want.view(), {}).value();
      dequantize.run(strided, back.view(), {}).value();
      EXPECT_EQ(back.words, want.words) << word(format);
    }
    --strided.columnwise.scale_bytes;
    EXPECT_EQ(quantize.run(x.view(), strided, {}).error().code, ErrorCode::shape_mismatch);
  }
}

TEST_F(QuantizeMx, RefusesByNameWhatNoProfileDefines) {
  HostMatrix x(DType::f32, 4, 64);
  QuantizedTensor out = output(Format::mxfp4, 4, 64, true, false);
  out.type.profile = Profile::te;
  const auto mxfp4 = quantize_mx(*runtime_, x.view(), out, {MxMode::rceil, device_});
  ASSERT_FALSE(mxfp4);
  EXPECT_EQ(mxfp4.error().code, ErrorCode::constraint_violated);
  EXPECT_NE(mxfp4.error().what.find("MXFP4 is defined by PROFILE=torchao"), std::string::npos)
      << mxfp4.error().message();
  out.type.format = Format::mxfp8_e4m3;
  out.rowwise = output(Format::mxfp8_e4m3, 4, 64, true, false).rowwise;
  const auto floor = quantize_mx(*runtime_, x.view(), out, {MxMode::floor, device_});
  ASSERT_FALSE(floor);
  EXPECT_NE(floor.error().what.find("other modes than rceil are defined by PROFILE=torchao"),
            std::string::npos)
      << floor.error().message();
  out.type.format = Format::nvfp4;
  EXPECT_FALSE(quantize_mx(*runtime_, x.view(), out, {MxMode::rceil, device_}));
  out = output(Format::mxfp8_e4m3, 4, 32, true, false);
  EXPECT_EQ(quantize_mx(*runtime_, x.view(), out, {MxMode::rceil, device_}).error().message(),
            "diecast: shape_mismatch: quantize_mx: x is [4, 64], out is [4, 32]\n"
            "  fix: describe out with shape [4, 64]");
}

}  // namespace
}  // namespace diecast
