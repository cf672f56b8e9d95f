// A group in one launch is its members one by one, to the bit: row counts on the host or on the
// device alone, empty members, rows behind the last offset full of NaN.
#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

struct Wish {
  bool row_scaled = false;
  TransformedSides rht = TransformedSides::none;
  int block_rows = 1;
  ScaleLayout layout = ScaleLayout::linear;
  FourOverSix four_over_six = FourOverSix::off;
  std::int64_t scale_gap = 0;  // bytes between the rows of linear scales
};

class GroupedOnHost : public TilesOnHost {
 protected:
  static constexpr std::int64_t kCols = 80, kHidden = 40;

  QuantizedGroup group(const std::vector<std::int64_t>& offsets, const Wish& wish) {
    QuantizedGroup out;
    out.count = static_cast<std::int64_t>(offsets.size()) - 1;
    out.host_row_offsets = offsets.data();
    out.whole.shape = {offsets.back() + kHidden, kCols};
    out.whole.row_scaled = wish.row_scaled;
    out.whole.block_rows = wish.block_rows;
    out.whole.layout = wish.layout;
    out.whole.rowwise = out.rowwise_sizes().value();
    out.whole.columnwise = out.columnwise_sizes().value();
    if (wish.scale_gap != 0) {
      QuantizedSide &across = out.whole.rowwise, &down = out.whole.columnwise;
      across.scale_stride = kCols / 16 + wish.scale_gap;
      across.scale_bytes = across.scale_stride * out.whole.rows();
      down.scale_stride = ceil_div(out.whole.rows(), 16) + wish.scale_gap;
      down.scale_bytes = down.scale_stride * kCols * out.count;
    }
    allocate(out.whole.rowwise);
    allocate(out.whole.columnwise);
    out.members = reinterpret_cast<MemberDescriptor*>(memory(out.count * 96));
    return out;
  }

  // Member `index` quantized by itself, against its part of the group.
  void expect_member(const Tensor& x, const QuantizedGroup& all, std::int64_t index,
                     QuantizeNvfp4TilesOptions options, const std::string& what) {
    const QuantizedTensor part = all.member(index).value();
    const std::int64_t first = all.host_row_offsets[index];
    Tensor rows = x;
    rows.data = static_cast<std::uint8_t*>(x.data) + first * kCols * 2;
    rows.shape = part.shape;
    QuantizedTensor own = part;
    allocate(own.rowwise);
    allocate(own.columnwise);
    quantize_nvfp4_tiles(*runtime_, rows, own, options).value();
    expect_equal(part.rowwise, own.rowwise, what + " rowwise");
    expect_equal(part.columnwise, own.columnwise, what + " columnwise");
  }

  void expect_one_by_one(const Wish& wish, bool on_device, const std::string& what) {
    const std::vector<std::int64_t> offsets = {0, 0, 33, 161, 161, 162, 200};
    const Tensor x = matrix(offsets.back(), kCols, 9, kHidden);
    QuantizedGroup all = group(offsets, wish);
    QuantizeNvfp4GroupedOptions options;
    options.device = device_;
    options.rht = wish.rht;
    options.four_over_six = wish.four_over_six;
    options.described = !on_device;
    const auto described = memory(std::vector<std::int64_t>(offsets));
    if (on_device) {
      // Buffers that suffice for exact offsets are found with them; the op itself sees none.
      all.device_row_offsets = described;
    } else {
      std::vector<MemberDescriptor> members(static_cast<std::size_t>(all.count));
      all.describe(&x, members.data()).value();
      device_->copy_to_device(all.members, members.data(), members.size() * 96, {}).value();
    }
    quantize_nvfp4_grouped(*runtime_, x, all, options).value();
    for (std::int64_t i = 0; i < all.count; ++i) {
      expect_member(x, all, i, options, what + " member " + std::to_string(i));
    }
  }
};

TEST_F(GroupedOnHost, EqualsOneByOne) {
  expect_one_by_one({}, true, "plain, device offsets");
  expect_one_by_one({}, false, "plain, host offsets");
  expect_one_by_one({true}, true, "row-scaled");
  expect_one_by_one({true}, false, "row-scaled, host offsets");
  expect_one_by_one({false, TransformedSides::columnwise}, true, "transformed columns");
  expect_one_by_one({true, TransformedSides::both, 1, ScaleLayout::s128x4}, true, "all of it");
  expect_one_by_one({false, TransformedSides::none, 16, ScaleLayout::s8x4}, true, "squares");
  expect_one_by_one({false, TransformedSides::rowwise, 16, ScaleLayout::s128x4, FourOverSix::mse},
                    false, "squares, transformed, four over six");
}

TEST_F(GroupedOnHost, ScalesMayBeApart) {
  Wish wish;
  wish.scale_gap = 3;
  expect_one_by_one(wish, true, "device offsets");
  wish.row_scaled = true;
  expect_one_by_one(wish, false, "row-scaled, host offsets");
}

TEST_F(GroupedOnHost, WithoutOffsetsOnTheDeviceTheMembersMustBeDescribed) {
  const std::vector<std::int64_t> offsets = {0, 16};
  const Tensor x = matrix(16, kCols, 2, kHidden);
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  EXPECT_EQ(
      quantize_nvfp4_grouped(*runtime_, x, group(offsets, {}), options).error().message(),
      "diecast: missing_buffer: quantize_nvfp4_grouped: the group has no row offsets in device "
      "memory\n  fix: set device_row_offsets, or describe() the members, copy the descriptors, "
      "and pass described = true");
}

}  // namespace
}  // namespace diecast
