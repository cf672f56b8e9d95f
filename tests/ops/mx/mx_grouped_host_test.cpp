// quantize_mx_grouped: a group in one launch is its members by quantize_mx, to the bit, and nothing
// else is written; row offsets and counts on the host or on the device, tensors that lie anywhere.
#include "how_many.h"
#include "ops/grouped_fixture.h"

namespace diecast {
namespace {

struct MxWish {
  Format format = Format::mxfp8_e4m3;
  ScaleLayout layout = ScaleLayout::linear;
  bool square = false;
  bool rowwise = true, columnwise = true;
  std::vector<std::int32_t> counts = {};
  std::int64_t cols = 96;
  std::int64_t scale_gap = 0;  // bytes between the rows of linear scales
};

class MxGroupedOnHost : public GroupedOnHost {
 protected:
  void SetUp() override {
    GroupedOnHost::SetUp();
    options_.device = device_;
    options_.mode = MxMode::even;
  }

  static void describe(QuantizedTensor& out, const MxWish& wish) {
    out.type.format = wish.format;
    out.type.layout = wish.layout;
    out.type.square = wish.square;
    out.type.profile = Profile::torchao;
  }

  QuantizedGroup mx_group(const std::vector<std::int64_t>& offsets, const MxWish& wish,
                          Known known) {
    QuantizedGroup out;
    describe(out.whole, wish);
    place_members(out, offsets, wish.counts, known, wish.cols);
    QuantizedSide &across = out.whole.rowwise, &down = out.whole.columnwise;
    if (wish.rowwise) across = out.rowwise_sizes().value();
    if (wish.columnwise) down = out.columnwise_sizes().value();
    if (wish.scale_gap != 0) {
      const bool in_order = !is_four_bit(wish.format);
      const std::int64_t rows = out.whole.rows();
      across.scale_stride = ceil_div(wish.cols, 32) + wish.scale_gap;
      across.scale_bytes = across.scale_stride * rows;
      down.scale_stride = (in_order ? wish.cols : ceil_div(rows, 32)) + wish.scale_gap;
      down.scale_bytes = down.scale_stride * (in_order ? rows : wish.cols * out.count);
    }
    if (wish.rowwise) allocate(across);
    if (wish.columnwise) allocate(down);
    return out;
  }

  // `part` is what quantize_mx makes of x; what it wrote is poison again afterwards.
  void expect_alone(const Tensor& x, const QuantizedTensor& part, const std::string& what) {
    QuantizedTensor own = part;
    if (part.rowwise.present()) allocate(own.rowwise);
    if (part.columnwise.present()) allocate(own.columnwise);
    quantize_mx(*runtime_, x, own, options_).value();
    expect_then_poison(part.rowwise, own.rowwise, what + " rowwise");
    expect_then_poison(part.columnwise, own.columnwise, what + " columnwise");
  }

  void expect_one_by_one(const MxWish& wish, Known known) {
    const std::string what = std::string(word(wish.format)) + " " + std::string(word(wish.layout)) +
                             " in rows of " + std::to_string(wish.cols);
    const std::vector<std::int64_t> offsets = {0, 0, 33, 161, 161, 162, 200};
    const Tensor x = matrix(offsets.back(), wish.cols, 9, kHidden);
    for (std::size_t i = 0; i < wish.counts.size(); ++i) {
      for (std::int64_t row = offsets[i] + wish.counts[i]; row < offsets[i + 1]; ++row) {
        fill_row(x, row, row % 2 == 0 ? 0x7FFF : 0x7F80);
      }
    }
    QuantizedGroup all = mx_group(offsets, wish, known);
    QuantizeMxGroupedOptions options{options_, known == Known::host};
    if (options.described) copy_descriptors(all, x);
    quantize_mx_grouped(*runtime_, x, all, options).value();
    all.host_row_offsets = offsets.data();
    if (!wish.counts.empty()) all.host_row_counts = wish.counts.data();
    for (std::int64_t i = 0; i < all.count; ++i) {
      const QuantizedTensor part = all.member(i).value();
      Tensor rows = x;
      rows.data = static_cast<std::uint8_t*>(x.data) + offsets[i] * x.stride() * 2;
      rows.shape = part.shape;
      expect_alone(rows, part, what + " member " + std::to_string(i));
    }
    expect_poison(all.whole.rowwise, what + " rowwise");
    expect_poison(all.whole.columnwise, what + " columnwise");
  }

  QuantizeMxOptions options_;
};

// Every day by turns of those whom offsets are known to; else by both.
TEST_F(MxGroupedOnHost, EqualsOneByOneInEveryFormatAndLayout) {
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
    for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
      int sum = static_cast<int>(format) + static_cast<int>(layout);
      for (const Known known : {Known::device, Known::host}) {
        if (!testing::how_many(sum++ % 2 == 0, true, true)) continue;
        expect_one_by_one({format, layout, known == Known::host}, known);
      }
    }
  }
}

TEST_F(MxGroupedOnHost, EqualsOneByOneInOneDirectionAndInRowsOfAnyLength) {
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp4}) {
    expect_one_by_one({format, ScaleLayout::s128x4, 1, true, false}, Known::device);
    expect_one_by_one({format, ScaleLayout::linear, 1, false, true}, Known::device);
    expect_one_by_one({format, ScaleLayout::s8x4, 1, true, true, {}, 45}, Known::device);
  }
}

TEST_F(MxGroupedOnHost, TakesTheRealRowsOfEachMemberAlone) {
  const std::vector<std::int32_t> counts = {0, 20, 128, 0, 0, 17};
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp4}) {
    expect_one_by_one({format, ScaleLayout::linear, 1, true, true, counts}, Known::device);
    expect_one_by_one({format, ScaleLayout::s128x4, 1, true, true, counts}, Known::host);
  }
}

TEST_F(MxGroupedOnHost, ScalesMayBeApart) {
  const std::vector<std::int32_t> counts = {0, 20, 128, 0, 0, 17};
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
    for (const Known known : {Known::device, Known::host}) {
      expect_one_by_one({format, ScaleLayout::linear, 1, true, true, {}, 96, 3}, known);
      expect_one_by_one({format, ScaleLayout::linear, true, true, true, counts, 45, 7}, known);
    }
  }
}

TEST_F(MxGroupedOnHost, TensorsMayLieAnywhere) {
  for (const Format format : {Format::mxfp8_e5m2, Format::mxfp4}) {
    const MxWish wish{format, ScaleLayout::linear};
    std::vector<QuantizedPair> pairs;
    for (const std::int64_t rows : {40, 0, 3, 129}) {
      const Tensor x = matrix(rows, 64, static_cast<std::uint64_t>(rows));
      pairs.push_back({x, output(x, [&](QuantizedTensor& out) { describe(out, wish); })});
    }
    QuantizedSide& apart = pairs[3].out.columnwise;  // [5, 64] of FP8, [64, 5] of E2M1
    apart.scale_stride = 70;
    apart.scale_bytes = 64 * 70;
    apart.scale = memory(apart.scale_bytes);
    TensorGroup group{pairs};
    std::vector<MemberDescriptor> members(pairs.size());
    group.describe(members.data()).value();
    group.members = reinterpret_cast<const MemberDescriptor*>(
        memory(Octets(reinterpret_cast<const std::uint8_t*>(members.data()),
                      reinterpret_cast<const std::uint8_t*>(members.data() + members.size()))));
    quantize_mx_grouped(*runtime_, group, options_).value();
    for (const QuantizedPair& pair : pairs) expect_alone(pair.x, pair.out, "a pair");
  }
}

TEST_F(MxGroupedOnHost, RefusesByNameWhatItCannotTake) {
  const std::vector<std::int64_t> offsets = {0, 16};
  const Tensor x = matrix(16, 96, 2, kHidden);
  const auto message = [&](const QuantizedGroup& group) {
    return quantize_mx_grouped(*runtime_, x, group, {options_}).error().message();
  };
  QuantizedGroup all = mx_group(offsets, {}, Known::host);
  EXPECT_EQ(message(all),
            "diecast: missing_buffer: quantize_mx_grouped: the group has no row offsets in device "
            "memory\n  fix: set device_row_offsets, or describe() the members, copy the "
            "descriptors, and pass described = true");
  all = mx_group(offsets, {Format::mxfp4}, Known::device);
  all.whole.rowwise.data = static_cast<std::uint8_t*>(all.whole.rowwise.data) + 8;
  EXPECT_EQ(message(all),
            "diecast: misaligned: quantize_mx_grouped: the rowwise data starts 8 bytes past a "
            "multiple of 16\n  fix: start codes at multiples of 16 bytes");
  all = mx_group(offsets, {}, Known::device);
  all.whole.columnwise.scale_stride = 95;
  EXPECT_EQ(
      message(all),
      "diecast: shape_mismatch: quantize_mx_grouped: group: scale_stride = 95 for 96 scales a "
      "row\n  fix: scale_stride = 96 or more, or 0 for dense rows");
  all = group(offsets, {}, Known::device);
  EXPECT_EQ(message(all),
            "diecast: not_supported: quantize_mx_grouped: out is nvfp4\n"
            "  fix: describe out with format = Format::mxfp8_e4m3, mxfp8_e5m2 or mxfp4");
}

}  // namespace
}  // namespace diecast
