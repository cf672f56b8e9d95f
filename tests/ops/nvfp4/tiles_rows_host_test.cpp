// quantize_nvfp4_tiles and rows that are not as others: NaN all along, and a count of them in
// device memory. Every output is poisoned before.
#include <diecast/ops/reference/nvfp4_sides.h>

#include <algorithm>

#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class TilesRowsOnHost : public TilesOnHost {
 protected:
  struct Wish {
    Profile profile = Profile::te;
    bool row_scaled = false;
    TransformedSides rht = TransformedSides::none;
    ScaleLayout layout = ScaleLayout::linear;
    FourOverSix four_over_six = FourOverSix::off;
  };

  QuantizedTensor quantized(const Tensor& x, const Wish& wish) {
    const QuantizedTensor out = output(x, [&](QuantizedTensor& q) {
      q.type.profile = wish.profile;
      q.type.row_scaled = wish.row_scaled;
      q.type.layout = wish.layout;
    });
    QuantizeNvfp4Options options;
    options.device = device_;
    options.rht = wish.rht;
    options.four_over_six = wish.four_over_six;
    quantize_nvfp4(*runtime_, x, out, options).value();
    return out;
  }

  static void expect_reference(const Tensor& x, const QuantizedTensor& out, const Wish& wish,
                               bool columnwise) {
    const auto own = columnwise ? TransformedSides::columnwise : TransformedSides::rowwise;
    reference::TilesOptions options;
    options.nvfp4.profile = wish.profile;
    options.nvfp4.row_scaled = wish.row_scaled;
    options.nvfp4.four_over_six = wish.four_over_six;
    options.nvfp4.rht = wish.rht == own || wish.rht == TransformedSides::both;
    options.nvfp4.sign_mask = options.nvfp4.rht ? kHadamardSigns : 0;
    const auto amax = columnwise ? reference::amax_columnwise(x, options.nvfp4)
                                 : reference::amax_rowwise(x, options.nvfp4);
    const auto want = columnwise ? reference::quantize_columnwise(x, options, amax)
                                 : reference::quantize_rowwise(x, options, amax);
    const QuantizedSide& side = columnwise ? out.columnwise : out.rowwise;
    const std::int64_t lines = columnwise ? x.cols() : x.rows();
    const std::int64_t blocks = ceil_div(columnwise ? x.rows() : x.cols(), 16);
    const char* const what = columnwise ? "columnwise" : "rowwise";
    EXPECT_EQ(bytes_at(side.amax, side.amax_count * 4),
              bytes_at(amax.data(), static_cast<std::int64_t>(amax.size()) * 4))
        << what;
    EXPECT_EQ(bytes_at(side.scale, side.scale_bytes),
              reference::laid_out(want.scales, wish.layout, lines, blocks))
        << what;
    EXPECT_EQ(bytes_at(side.data, side.data_bytes), want.codes) << what;
  }
};

TEST_F(TilesRowsOnHost, OfNaNAreAsTheReferenceHasThemTransformedOrNot) {
  const Tensor x = matrix(150, 100, 12);
  auto* const words = static_cast<std::uint16_t*>(x.data);
  for (const std::int64_t row : {0, 17, 149}) {
    std::fill_n(words + row * x.cols(), x.cols(), std::uint16_t{0x7FC0});
  }
  for (std::int64_t row = 0; row < x.rows(); ++row) words[row * x.cols() + 5] = 0xFFC0;
  for (const Wish& wish : {
           Wish{},
           Wish{Profile::te, true},
           Wish{Profile::te, false, TransformedSides::both, ScaleLayout::s128x4},
           Wish{Profile::te, true, TransformedSides::both, ScaleLayout::s8x4},
           Wish{Profile::te, true, TransformedSides::rowwise, ScaleLayout::linear,
                FourOverSix::mse},
           Wish{Profile::modelopt, true, TransformedSides::columnwise},
       }) {
    SCOPED_TRACE(std::string(word(wish.profile)) + " " +
                 std::to_string(static_cast<int>(wish.rht)) + std::to_string(wish.row_scaled));
    const QuantizedTensor out = quantized(x, wish);
    expect_reference(x, out, wish, false);
    expect_reference(x, out, wish, true);
  }
}

// The outputs are those of the rows that count; where the others would be, nothing is written.
TEST_F(TilesRowsOnHost, ThatTheDeviceCountsAreQuantizedAlone) {
  constexpr std::int64_t kRows = 17, kHidden = 60, kCols = 80;
  const Tensor all = matrix(kRows, kCols, 12, kHidden);
  Tensor few = all;
  few.shape = {kRows, kCols};
  Tensor counted = all;
  counted.device_rows = memory(std::vector<std::int64_t>{kRows});
  const auto expect_begin = [](const void* got, const void* want, std::int64_t written,
                               std::int64_t bytes, const std::string& what) {
    Octets image = bytes_at(want, written);
    image.resize(static_cast<std::size_t>(bytes), variants::DeviceBuffer::kPoison);
    EXPECT_EQ(bytes_at(got, bytes), image) << what;
  };
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (const bool row_scaled : {false, true}) {
      const Wish wish{Profile::te, row_scaled, TransformedSides::columnwise, layout};
      const QuantizedTensor out = quantized(counted, wish), want = quantized(few, wish);
      const auto expect = [&](const QuantizedSide& a, const QuantizedSide& b, const char* side) {
        const std::string what = std::string(word(layout)) + " " + side;
        expect_begin(a.data, b.data, b.data_bytes, a.data_bytes, what + " codes");
        expect_begin(a.scale, b.scale, b.scale_bytes, a.scale_bytes, what + " scales");
        EXPECT_EQ(bytes_at(a.amax, b.amax_count * 4), bytes_at(b.amax, b.amax_count * 4)) << what;
      };
      expect(out.rowwise, want.rowwise, "rowwise");
      expect(out.columnwise, want.columnwise, "columnwise");
    }
  }
}

// The way out for columnwise scales that have to lie where all rows would have them.
TEST_F(TilesRowsOnHost, ScalesOfColumnsMayBeApart) {
  constexpr std::int64_t kRows = 17, kCols = 80, kStride = 5;
  const Tensor x = matrix(kRows, kCols, 12);
  const QuantizedTensor dense = quantized(x, {});
  QuantizedTensor out = output(x, [](QuantizedTensor&) {});
  out.columnwise.scale_stride = kStride;
  out.columnwise.scale_bytes = kCols * kStride;
  allocate(out.columnwise);
  QuantizeNvfp4Options options;
  options.device = device_;
  quantize_nvfp4(*runtime_, x, out, options).value();
  const auto* const scales = static_cast<const std::uint8_t*>(dense.columnwise.scale);
  Octets want(kCols * kStride, variants::DeviceBuffer::kPoison);
  for (std::int64_t col = 0; col < kCols; ++col) {
    std::copy_n(scales + 2 * col, 2, want.begin() + kStride * col);
  }
  EXPECT_EQ(bytes_at(out.columnwise.scale, kCols * kStride), want);
}

}  // namespace
}  // namespace diecast
