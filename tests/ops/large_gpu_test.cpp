// Matrices of more than 2^31 elements on a GPU: samples of the first rows, of those around element
// 2^31 and of the last ones are as the reference has them.
#include <diecast/diecast.h>
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_sides.h>
#include <gtest/gtest.h>

#include <random>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"

namespace diecast {
namespace {

using reference::Bytes;
using variants::DeviceBuffer;

// 128 rows more than 2^31 elements have; a row's length keeps whole 16-element blocks, no tile.
constexpr std::int64_t kRows = 65664, kCols = 32752, kElements = kRows * kCols;
constexpr std::int64_t kMiddle = (std::int64_t{1} << 31) / kCols / 16 * 16;  // a row
static_assert(kElements > std::int64_t{1} << 31 && kMiddle + 16 <= kRows - 16);
constexpr std::int64_t kBands[] = {0, kMiddle, kRows - 16};  // 16 rows each
constexpr std::size_t kPeriod = 1048573;  // of the values: no row begins as its neighbours do
constexpr std::int64_t kRoom = std::int64_t{24} << 30;

class LargeOnGpu : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (device_->properties().memory_bytes < kRoom) {
      GTEST_SKIP() << "24 GiB of device memory are needed";
    }
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    values_.resize(kPeriod);
    for (auto& value : values_) value = reference::encode_bf16(normal(random));
    x_ = room(kElements * 2);
    device_->copy_to_device(x_, values_.data(), kPeriod * 2, {}).value();
    for (std::int64_t have = kPeriod; have < kElements; have *= 2) {
      const auto more = static_cast<std::size_t>(std::min(have, kElements - have)) * 2;
      device_->copy_on_device(static_cast<std::uint8_t*>(x_) + have * 2, x_, more, {}).value();
    }
    device_->copy_to_device(static_cast<std::uint8_t*>(x_) + (kElements - 1) * 2, &kLargest, 2, {})
        .value();
    device_->synchronize({}).value();
  }

  void* room(std::int64_t bytes) {
    return buffers_
        .emplace_back(std::make_unique<DeviceBuffer>(*device_, static_cast<std::size_t>(bytes)))
        ->data_pointer();
  }
  void allocate(QuantizedSide& side) {
    side.data = room(side.data_bytes);
    side.scale = room(side.scale_bytes);
    side.amax = static_cast<float*>(room(side.amax_count * 4));
  }
  Tensor x() const { return {x_, DType::bf16, Shape{kRows, kCols}, 0, nullptr}; }

  std::uint16_t element(std::int64_t row, std::int64_t col) const {
    const std::int64_t index = row * kCols + col;
    return index == kElements - 1 ? kLargest : values_[static_cast<std::size_t>(index) % kPeriod];
  }
  // Rows or columns `first` to `first` + 16, as a matrix of rows.
  std::vector<std::uint16_t> band(std::int64_t first, bool of_columns) const {
    std::vector<std::uint16_t> out;
    for (std::int64_t i = first; i < first + 16; ++i) {
      for (std::int64_t j = 0; j < (of_columns ? kRows : kCols); ++j) {
        out.push_back(of_columns ? element(j, i) : element(i, j));
      }
    }
    return out;
  }
  Bytes copied(const void* from, std::int64_t offset, std::size_t bytes) const {
    Bytes out(bytes);
    device_->copy_to_host(out.data(), static_cast<const std::uint8_t*>(from) + offset, bytes, {})
        .value();
    device_->synchronize({}).value();
    return out;
  }

  // 16 lines of one direction from `first` on, under the amaxes that the device found.
  void expect_band(const QuantizedSide& side, std::int64_t first, bool of_columns,
                   bool row_scaled) {
    const std::int64_t length = of_columns ? kRows : kCols, blocks = length / 16;
    auto lines = band(first, of_columns);
    const Tensor x{lines.data(), DType::bf16, Shape{16, length}, 0, nullptr};
    reference::TilesOptions options;
    options.nvfp4.row_scaled = row_scaled;
    std::vector<float> given = {largest()};
    if (row_scaled) given = reference::amax_rowwise(x, options.nvfp4);
    const auto want = reference::quantize_rowwise(x, options, given);
    EXPECT_TRUE(copied(side.data, first * blocks * 8, want.codes.size()) == want.codes) << first;
    EXPECT_TRUE(copied(side.scale, first * blocks, want.scales.size()) == want.scales) << first;
    const Bytes amax = copied(side.amax, row_scaled ? first * 4 : 0, given.size() * 4);
    EXPECT_EQ(std::memcmp(amax.data(), given.data(), amax.size()), 0) << first;
  }

  // NVFP4 of x's shape, with rowwise buffers.
  QuantizedTensor rowwise(bool row_scaled) {
    QuantizedTensor out;
    out.shape = {kRows, kCols};
    out.type.row_scaled = row_scaled;
    allocate(out.rowwise = out.rowwise_sizes().value());
    return out;
  }

  // 16 rows of `back` are what the reference makes of their codes and scales.
  void expect_back(const QuantizedSide& side, const Tensor& back, std::int64_t first) {
    const std::int64_t blocks = kCols / 16;
    const reference::Nvfp4 rows{16,
                                kCols,
                                copied(side.data, first * blocks * 8, 16 * blocks * 8),
                                copied(side.scale, first * blocks, 16 * blocks),
                                false,
                                {}};
    Bytes want(16 * kCols * 2);
    const Tensor out{want.data(), DType::bf16, Shape{16, kCols}, 0, nullptr};
    reference::te_dequantize_nvfp4(rows, reference::Global::amax, {largest()}, out).value();
    EXPECT_TRUE(copied(back.data, first * kCols * 2, want.size()) == want) << first;
  }
  static float largest() { return reference::decode_bf16(kLargest); }

  static constexpr std::uint16_t kLargest = 0x42F7;  // 123.5, the last element of all
  std::vector<std::uint16_t> values_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  void* x_ = nullptr;
};

TEST_F(LargeOnGpu, RowsAreQuantizedAndComeBack) {
  QuantizeNvfp4Options options;
  options.device = device_;
  for (const bool row_scaled : {false, true}) {
    const QuantizedTensor out = rowwise(row_scaled);
    quantize_nvfp4(*test_runtime(), x(), out, options).value();
    for (const std::int64_t first : kBands) expect_band(out.rowwise, first, false, row_scaled);
    if (row_scaled) continue;
    const Tensor back{room(kElements * 2), DType::bf16, x().shape, 0, nullptr};
    DequantizeNvfp4Options dequantize;
    dequantize.device = device_;
    dequantize_nvfp4(*test_runtime(), out, back, dequantize).value();
    for (const std::int64_t first : kBands) expect_back(out.rowwise, back, first);
  }
}

TEST_F(LargeOnGpu, BothSidesAreQuantized) {
  QuantizeNvfp4Options options;
  options.device = device_;
  for (const bool row_scaled : {false, true}) {
    QuantizedTensor out = rowwise(row_scaled);
    allocate(out.columnwise = out.columnwise_sizes().value());
    quantize_nvfp4(*test_runtime(), x(), out, options).value();
    for (const std::int64_t first : kBands) expect_band(out.rowwise, first, false, row_scaled);
    for (const std::int64_t first : {std::int64_t{0}, kCols - 16}) {
      expect_band(out.columnwise, first, true, row_scaled);
    }
  }
}

TEST_F(LargeOnGpu, MaximaAreFound) {
  AmaxOptions options;
  options.device = device_;
  for (const auto per :
       {AmaxPer::tensor, AmaxPer::row, AmaxPer::column, AmaxPer::block, AmaxPer::tile}) {
    options.per = per;
    auto* const result = static_cast<float*>(room(kElements / 16 * 4));
    amax(*test_runtime(), x(), result, options).value();
    const auto expect_equal = [&](std::int64_t at, const std::vector<float>& want) {
      const Bytes got = copied(result, at * 4, want.size() * 4);
      EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size()), 0)
          << static_cast<int>(per) << " from " << at;
    };
    if (per == AmaxPer::tensor) {
      expect_equal(0, {largest()});
      continue;
    }
    const bool of_columns = per == AmaxPer::column;
    for (std::int64_t first : kBands) {
      if (of_columns) first = first == 0 ? 0 : kCols - 16;
      auto lines = band(first, of_columns);
      const Tensor few{lines.data(), DType::bf16, Shape{16, of_columns ? kRows : kCols}, 0,
                       nullptr};
      const auto want = reference::amax_per(few, of_columns ? AmaxPer::row : per, AmaxNans::ignore,
                                            AmaxTransform::none, 0);
      const std::int64_t a_row = kCols / 16;
      expect_equal(per == AmaxPer::block  ? first * a_row
                   : per == AmaxPer::tile ? first / 16 * a_row
                                          : first,
                   want);
    }
  }
}

TEST_F(LargeOnGpu, BlocksOfMxAreQuantized) {
  QuantizedTensor out;
  out.type.format = Format::mxfp8_e4m3;
  out.shape = {kRows, kCols};
  allocate(out.rowwise = out.rowwise_sizes().value());
  QuantizeMxOptions options;
  options.device = device_;
  quantize_mx(*test_runtime(), x(), out, options).value();
  for (const std::int64_t first : kBands) {
    auto lines = band(first, false);
    const Tensor few{lines.data(), DType::bf16, Shape{16, kCols}, 0, nullptr};
    const auto want = reference::quantize_mx(few, {}, false, false).value();
    EXPECT_TRUE(copied(out.rowwise.data, first * kCols, 16 * kCols) == want.data) << first;
    const auto scales = static_cast<std::int64_t>(want.scales.size());
    EXPECT_TRUE(copied(out.rowwise.scale, first / 16 * scales, want.scales.size()) == want.scales)
        << first;
  }
}

}  // namespace
}  // namespace diecast
