// Groups on the host device against quantize_nvfp4_tiles of each member, for the tests of groups.
#pragma once

#include <algorithm>
#include <cstring>

#include "ops/tiles_fixture.h"
#include "ops/variant_case.h"

namespace diecast {

struct GroupWish {
  bool row_scaled = false;
  TransformedSides rht = TransformedSides::none;
  bool square = false;
  ScaleLayout layout = ScaleLayout::linear;
  FourOverSix four_over_six = FourOverSix::off;
  std::int64_t scale_gap = 0;             // bytes between the rows of linear scales
  std::vector<std::int32_t> counts = {};  // real rows; empty: all are
  bool rowwise = true, columnwise = true;
  std::int64_t row_gap = 0;  // elements between the rows of x
  Profile profile = Profile::te;
  int bound = 448;
  bool stochastic = false;
  DType in = DType::bf16;
  bool block_amax = false;
  bool amax_given = false;

  // Whether the tensors' amaxes are given.
  bool given() const { return amax_given || block_amax; }
  std::string text() const {
    std::string out = "group " + std::string(word(profile)) + " " + std::string(word(layout)) +
                      " " + std::string(word(four_over_six));
    const std::pair<const char*, std::int64_t> numbers[] = {
        {"row_scaled", row_scaled}, {"rht", static_cast<int>(rht)}, {"square", square},
        {"bound", bound},           {"stochastic", stochastic},     {"scale_gap", scale_gap},
        {"rowwise", rowwise},       {"columnwise", columnwise},     {"row_gap", row_gap},
        {"bits", dtype_bits(in)},   {"block_amax", block_amax}};
    for (const auto& [name, value] : numbers)
      out.append(" ").append(name).append("=").append(std::to_string(value));
    return out;
  }
};

// Who knows offsets and counts: the device alone, or the host alone.
enum class Known { device, host };

class GroupedOnHost : public TilesOnHost {
 protected:
  static constexpr std::int64_t kHidden = 40;  // rows behind the last offset

  // Members' rows of a matrix with kHidden more, known to one side, and room for descriptors.
  void place_members(QuantizedGroup& out, const std::vector<std::int64_t>& offsets,
                     const std::vector<std::int32_t>& counts, Known known, std::int64_t cols) {
    out.count = static_cast<std::int64_t>(offsets.size()) - 1;
    out.whole.shape = {offsets.back() + kHidden, cols};
    if (known == Known::host) {
      out.host_row_offsets = offsets.data();
      if (!counts.empty()) out.host_row_counts = counts.data();
    } else {
      out.device_row_offsets = memory(offsets);
      if (!counts.empty()) out.device_row_counts = memory(counts);
    }
    out.members = reinterpret_cast<MemberDescriptor*>(memory(out.count * 96));
  }

  // A group with poisoned buffers. What the device alone knows has room for any offsets.
  QuantizedGroup group(const std::vector<std::int64_t>& offsets, const GroupWish& wish,
                       Known known) {
    QuantizedGroup out;
    place_members(out, offsets, wish.counts, known, cols_);
    out.whole.type.row_scaled = wish.row_scaled;
    out.whole.type.square = wish.square;
    out.whole.type.layout = wish.layout;
    out.whole.type.profile = wish.profile;
    out.whole.type.e4m3_bound = wish.bound;
    if (wish.rowwise) out.whole.rowwise = out.rowwise_sizes().value();
    if (wish.columnwise) out.whole.columnwise = out.columnwise_sizes().value();
    QuantizedSide &across = out.whole.rowwise, &down = out.whole.columnwise;
    if (wish.scale_gap != 0 && wish.rowwise) {
      across.scale_stride = ceil_div(cols_, 16) + wish.scale_gap;
      across.scale_bytes = across.scale_stride * out.whole.rows();
    }
    if (wish.scale_gap != 0 && wish.columnwise) {
      down.scale_stride = ceil_div(out.whole.rows(), 16) + wish.scale_gap;
      down.scale_bytes = down.scale_stride * cols_ * out.count;
    }
    if (wish.rowwise) allocate(out.whole.rowwise);
    if (wish.columnwise) allocate(out.whole.columnwise);
    return out;
  }

  void copy_descriptors(const QuantizedGroup& group, const Tensor& x) {
    std::vector<MemberDescriptor> members(static_cast<std::size_t>(group.count));
    group.describe(&x, members.data()).value();
    device_->copy_to_device(group.members, members.data(), members.size() * 96, {}).value();
  }

  // `own` as a member was quantized by itself; what it wrote is poison again afterwards.
  static void expect_then_poison(const QuantizedSide& part, const QuantizedSide& own,
                                 const std::string& what) {
    expect_equal(part, own, what);
    poison(part);
  }
  static void poison(const QuantizedSide& side) {
    const auto fill = [](void* at, std::int64_t bytes) {
      if (bytes > 0)
        std::memset(at, variants::DeviceBuffer::kPoison, static_cast<std::size_t>(bytes));
    };
    fill(side.data, side.data_bytes);
    fill(side.scale, side.scale_bytes);
    fill(side.amax, side.amax_count * 4);
  }
  static void expect_poison(const QuantizedSide& side, const std::string& what) {
    const auto expect = [&](const void* at, std::int64_t bytes, const char* part) {
      const Octets all = bytes_at(at, bytes);
      EXPECT_EQ(std::count(all.begin(), all.end(), variants::DeviceBuffer::kPoison), bytes)
          << what << ": " << part << " of nobody was written";
    };
    expect(side.data, side.data_bytes, "codes");
    expect(side.scale, side.scale_bytes, "scales");
    expect(side.amax, side.amax_count * 4, "amax");
  }

  // Every member of a group that was quantized against its part quantized by itself, and that
  // nothing else was written. `all` is known to the host.
  void expect_members(const Tensor& x, const QuantizedGroup& all,
                      const QuantizeNvfp4Options& options, const std::string& what) {
    for (std::int64_t i = 0; i < all.count; ++i) {
      const QuantizedTensor part = all.member(i).value();
      Tensor rows = x;
      rows.data = static_cast<std::uint8_t*>(x.data) +
                  all.host_row_offsets[i] * x.stride() * dtype_bits(x.dtype) / 8;
      rows.shape = part.shape;
      QuantizedTensor own = part;
      for (QuantizedSide* side : {&own.rowwise, &own.columnwise}) {
        const float* const given = side->amax;
        if (side->present()) allocate(*side);
        if (options.amax_given && side->present())
          std::copy(given, given + side->amax_count, side->amax);
      }
      quantize_nvfp4(*runtime_, rows, own, of_member(options, all, i)).value();
      const std::string member = what + " member " + std::to_string(i);
      expect_then_poison(part.rowwise, own.rowwise, member + " rowwise");
      expect_then_poison(part.columnwise, own.columnwise, member + " columnwise");
    }
    for (QuantizedSide side : {all.whole.rowwise, all.whole.columnwise}) {
      if (options.amax_given) side.amax_count = 0;  // an input
      expect_poison(side, what);
    }
  }

  // The rows of blocks of 16 before member i, each member with all its rows.
  static std::int64_t sixteens_before(const QuantizedGroup& all, std::int64_t i) {
    std::int64_t sum = 0;
    for (std::int64_t m = 0; m < i; ++m) {
      sum += ceil_div(all.host_row_offsets[m + 1] - all.host_row_offsets[m], 16);
    }
    return sum;
  }

  // The options with the block amaxes of member i.
  QuantizeNvfp4Options of_member(QuantizeNvfp4Options options, const QuantizedGroup& all,
                                 std::int64_t i) const {
    const std::int64_t blocks = ceil_div(cols_, 16), sixteens = sixteens_before(all, i);
    const bool square = all.whole.type.square;
    auto& [rowwise, columnwise] = options.block_amax;
    if (rowwise != nullptr) rowwise += (square ? sixteens : all.host_row_offsets[i]) * blocks;
    if (columnwise != nullptr) columnwise += sixteens * (square ? blocks : cols_);
    return options;
  }

  // Amaxes of tensors and, where the wish says so, of blocks; of the offsets that the device knows.
  void give(QuantizedGroup all, const std::vector<std::int64_t>& offsets, const GroupWish& wish,
            QuantizeNvfp4Options& options) {
    options.amax_given = true;
    for (const QuantizedSide* side : {&all.whole.rowwise, &all.whole.columnwise}) {
      for (std::int64_t i = 0; side->present() && i < side->amax_count; ++i) {
        side->amax[i] = 0.5f + static_cast<float>(i % 7);
      }
    }
    if (!wish.block_amax) return;
    all.host_row_offsets = offsets.data();
    const std::int64_t blocks = ceil_div(cols_, 16), sixteens = sixteens_before(all, all.count);
    const bool square = wish.square;
    const auto amaxes = [&](std::int64_t count, std::uint64_t seed) {
      return memory(variants::block_amaxes(count, seed));
    };
    const std::int64_t lines = square ? sixteens : offsets.back();
    if (wish.rowwise) options.block_amax.rowwise = amaxes(lines * blocks, 3);
    if (wish.columnwise)
      options.block_amax.columnwise = amaxes(sixteens * (square ? blocks : cols_), 4);
  }

  // x for members at those offsets, its rows as far apart as the wish says: some rows are nothing
  // but NaN, padding is NaN and infinity.
  Tensor matrix_for(const std::vector<std::int64_t>& offsets, const GroupWish& wish,
                    std::uint64_t seed) {
    Tensor x = matrix(offsets.back(), cols_ + wish.row_gap, seed, kHidden, wish.in);
    x.shape = {offsets.back() + kHidden, cols_};
    x.row_stride = cols_ + wish.row_gap;
    for (std::int64_t row = 0; row < offsets.back(); row += 41) fill_row(x, row, 0x7FFF);
    for (std::size_t i = 0; i < wish.counts.size(); ++i) {
      for (std::int64_t row = offsets[i] + wish.counts[i]; row < offsets[i + 1]; ++row) {
        fill_row(x, row, row % 2 == 0 ? 0x7FFF : 0x7F80);
      }
    }
    return x;
  }

  void expect_one_by_one(const GroupWish& wish, Known known, const std::string& what,
                         const std::vector<std::int64_t>& offsets = {0, 0, 33, 161, 161, 162, 200},
                         std::uint64_t seed = 9) {
    const Tensor x = matrix_for(offsets, wish, seed);
    QuantizedGroup all = group(offsets, wish, known);
    QuantizeNvfp4GroupedOptions options;
    options.device = device_;
    options.rht = wish.rht;
    options.four_over_six = wish.four_over_six;
    options.described = known == Known::host;
    if (wish.stochastic) options.rng_state = memory(std::vector<std::int64_t>{11, 4});
    if (options.described) copy_descriptors(all, x);
    if (wish.given()) give(all, offsets, wish, options);
    quantize_nvfp4_grouped(*runtime_, x, all, options).value();
    all.host_row_offsets = offsets.data();
    if (!wish.counts.empty()) all.host_row_counts = wish.counts.data();
    expect_members(x, all, options, what);
  }

  // Of e4m3 a row of NaN.
  static void fill_row(const Tensor& x, std::int64_t row, std::uint16_t bits) {
    if (x.dtype == DType::e4m3) {
      auto* const bytes = static_cast<std::uint8_t*>(x.data) + row * x.stride();
      return std::fill(bytes, bytes + x.cols(), std::uint8_t{0x7F});
    }
    auto* const first = static_cast<std::uint16_t*>(x.data) + row * x.stride();
    std::fill(first, first + x.cols(), bits);
  }

  std::int64_t cols_ = 80;
};

}  // namespace diecast
