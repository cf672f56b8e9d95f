// quantize_nvfp4_tiles under amaxes of blocks that a calibration gives: of 1x16 blocks along both
// sides, and of squares.
#include <diecast/ops/reference/nvfp4_sides.h>

#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class TilesBlockAmaxOnHost : public TilesOnHost {
 protected:
  // The amax of each block of x as the op finds it.
  const float* found(const Tensor& x, AmaxPer per, std::int64_t count) {
    auto* const result = reinterpret_cast<float*>(memory(count * 4));
    AmaxOptions options;
    options.device = device_;
    options.per = per;
    options.nans = AmaxNans::propagate;
    amax(*runtime_, x, result, options).value();
    return result;
  }
  static std::vector<float> floats(const float* from, std::int64_t count) {
    return {from, from + count};
  }
  QuantizedTensor modelopt(const Tensor& x, int block_rows) {
    QuantizedTensor out = output(x, [&](QuantizedTensor& q) {
      q.type.profile = Profile::modelopt;
      q.type.square = block_rows != 1;
    });
    *out.rowwise.amax = *out.columnwise.amax = 3.0f;
    return out;
  }
  QuantizeNvfp4Options under(const float* rowwise, const float* columnwise) {
    QuantizeNvfp4Options options;
    options.device = device_;
    options.block_amax = {rowwise, columnwise};
    return options;
  }
  static void expect(const QuantizedSide& side, const reference::CodesAndScales& want) {
    EXPECT_EQ(bytes_at(side.scale, side.scale_bytes), want.scales);
    EXPECT_EQ(bytes_at(side.data, side.data_bytes), want.codes);
  }

  static constexpr std::int64_t kRows = 52, kCols = 80;
  Tensor x_;
  void SetUp() override {
    TilesOnHost::SetUp();
    if (!IsSkipped()) x_ = matrix(kRows, kCols, 11);
  }
  // x's transpose, for the amaxes of its columns' blocks.
  Tensor transposed() {
    const auto* const from = static_cast<const std::uint16_t*>(x_.data);
    std::vector<std::uint16_t> out;
    for (std::int64_t col = 0; col < kCols; ++col) {
      for (std::int64_t row = 0; row < kRows; ++row) out.push_back(from[row * kCols + col]);
    }
    return {memory(out), DType::bf16, Shape{kCols, kRows}, 0, nullptr};
  }
};

TEST_F(TilesBlockAmaxOnHost, OfBothSidesAreThoseOfTheReference) {
  const QuantizedTensor out = modelopt(x_, 1);
  const float* const rows = found(x_, AmaxPer::block, kRows * 5);
  const float* const columns = found(transposed(), AmaxPer::block, kCols * 4);
  quantize_nvfp4(*runtime_, x_, out, under(rows, columns)).value();
  reference::TilesOptions options;
  options.nvfp4.profile = Profile::modelopt;
  options.nvfp4.block_amax = floats(rows, kRows * 5);
  expect(out.rowwise, reference::quantize_rowwise(x_, options, {3.0f}));
  options.nvfp4.block_amax = floats(columns, kCols * 4);
  expect(out.columnwise, reference::quantize_columnwise(x_, options, {3.0f}));
}

// What the rowwise op makes of the same amaxes.
TEST_F(TilesBlockAmaxOnHost, OfRowsAreThoseOfTheRowwiseOp) {
  QuantizedTensor out = modelopt(x_, 1), alone = modelopt(x_, 1);
  const float* const rows = found(x_, AmaxPer::block, kRows * 5);
  out.columnwise = alone.columnwise = {};
  quantize_nvfp4(*runtime_, x_, out, under(rows, nullptr)).value();
  QuantizeNvfp4Options options;
  options.device = device_;
  options.block_amax.rowwise = rows;
  quantize_nvfp4(*runtime_, x_, alone, options).value();
  expect_equal(out.rowwise, alone.rowwise, "rows");
}

TEST_F(TilesBlockAmaxOnHost, OfSquaresMakeOneSideTheOthersTranspose) {
  const QuantizedTensor out = modelopt(x_, 16);
  const float* const squares = found(x_, AmaxPer::tile, 4 * 5);
  const float* const turned = found(transposed(), AmaxPer::tile, 5 * 4);
  quantize_nvfp4(*runtime_, x_, out, under(squares, turned)).value();
  reference::TilesOptions options;
  options.square = true;
  options.nvfp4.profile = Profile::modelopt;
  options.nvfp4.block_amax = floats(squares, 4 * 5);
  const auto want = reference::quantize_rowwise(x_, options, {3.0f});
  expect(out.rowwise, want);
  expect(out.columnwise, {reference::transpose_codes(want.codes, kRows, kCols, 16),
                          reference::transpose_tile_scales(want.scales, kRows, 5, kCols)});
}

TEST_F(TilesBlockAmaxOnHost, AreOfEverySideThatIsWritten) {
  const QuantizedTensor out = modelopt(x_, 1);
  const float* const rows = found(x_, AmaxPer::block, kRows * 5);
  const auto outcome = [&](const QuantizedTensor& q, const QuantizeNvfp4Options& options) {
    return quantize_nvfp4(*runtime_, x_, q, options).error().message();
  };
  EXPECT_EQ(outcome(out, under(rows, nullptr)),
            "diecast: missing_buffer: quantize_nvfp4: block amaxes of the columns are missing\n"
            "  fix: give those of each direction of out, where the op is prepared for them");
  QuantizedTensor rowwise = out;
  rowwise.columnwise = {};
  EXPECT_EQ(outcome(rowwise, under(rows, rows)),
            "diecast: not_supported: quantize_nvfp4: block amaxes of the columns are given and not "
            "taken\n"
            "  fix: give those of each direction of out, where the op is prepared for them");
  rowwise.type.profile = Profile::te;
  EXPECT_NE(outcome(rowwise, under(rows, nullptr))
                .find("(given block amaxes are defined by profile modelopt)"),
            std::string::npos);
}

}  // namespace
}  // namespace diecast
