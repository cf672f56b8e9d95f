// gemm_nvfp4_grouped against its members one by one, by each layout letter: empty members, rows of
// nobody, rows that are no whole blocks.
#include <algorithm>

#include "ops/gemm_fixture.h"

namespace diecast {
namespace {

// Experts of one layer.
class GemmNvfp4Grouped : public GemmNvfp4 {
 protected:
  static constexpr std::int64_t kCols = 40, kDepth = 64, kHidden = 7;
  using Offsets = std::vector<std::int64_t>;
  const Offsets offsets_ = {0, 0, 33, 161, 161, 162};

  static Offsets every(std::int64_t rows) {
    return {0, rows, 2 * rows, 3 * rows, 4 * rows, 5 * rows};
  }
  // Both sides of all members of x, which the device alone knows, or the host too.
  QuantizedGroup group(const Tensor& x, const Offsets& offsets, const Want& want,
                       const std::vector<std::int32_t>& counts = {}) {
    QuantizedGroup out;
    out.count = static_cast<std::int64_t>(offsets.size()) - 1;
    out.whole.shape = x.shape;
    out.whole.type.row_scaled = want.row_scaled;
    out.whole.type.layout = want.layout;
    out.device_row_offsets = memory(offsets);
    if (!counts.empty()) out.device_row_counts = memory(counts);
    out.members = reinterpret_cast<MemberDescriptor*>(memory(out.count * 96));
    out.whole.rowwise = out.rowwise_sizes().value();
    out.whole.columnwise = out.columnwise_sizes().value();
    allocate(out.whole.rowwise);
    allocate(out.whole.columnwise);
    QuantizeNvfp4GroupedOptions options;
    options.device = device_;
    quantize_nvfp4_grouped(*runtime_, x, out, options).value();
    return out;
  }
  // Each member's rows of out as the reference has them, rows of nobody untouched. `begins`: of
  // each member in out.
  void expect_members(QuantizedGroup a, QuantizedGroup b, const Tensor& out, const Offsets& of_a,
                      const Offsets& of_b, const Offsets& begins, GemmNvfp4Options options) {
    a.host_row_offsets = of_a.data(), b.host_row_offsets = of_b.data();
    const auto bias = options.bias;
    for (std::int64_t i = 0; i < a.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (bias) {
        options.bias->shape = {out.cols()};
        options.bias->data = static_cast<float*>(bias->data) + i * out.cols();
      }
      if (begins[at] == begins[at + 1]) continue;
      const auto want = expected(a.member(i).value(), b.member(i).value(), options);
      const auto* got = static_cast<const float*>(out.data) + begins[at] * out.cols();
      ASSERT_EQ(static_cast<std::int64_t>(want.size()), (begins[at + 1] - begins[at]) * out.cols());
      EXPECT_EQ(std::memcmp(got, want.data(), want.size() * 4), 0)
          << options.layout << " member " << i;
    }
    const std::int64_t rest = out.rows() - begins.back();
    const Octets bytes =
        bytes_at(static_cast<float*>(out.data) + begins.back() * out.cols(), rest * out.cols() * 4);
    EXPECT_EQ(bytes, Octets(bytes.size(), variants::DeviceBuffer::kPoison));
  }
  const ScaleLayout layouts_[3] = {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4};
};

TEST_F(GemmNvfp4Grouped, MembersAreMultipliedAsOneByOne) {
  for (const int kind : {0, 1, 2, 3}) {
    const Want left{kind % 2 == 1, kind < 2 ? ScaleLayout::linear : ScaleLayout::s128x4};
    const Want right{kind == 3, left.layout};
    const QuantizedGroup a = group(values(162 + kHidden, kDepth, 70), offsets_, left);
    const QuantizedGroup b = group(values(5 * kCols, kDepth, 71), every(kCols), right);
    GemmNvfp4Options options = on_host();
    options.bias = values(5, kCols, 72);
    const Tensor out = room(162 + kHidden, kCols);
    gemm_nvfp4_grouped(*runtime_, a, b, out, options).value();
    expect_members(a, b, out, offsets_, every(kCols), offsets_, options);
  }
}

// The gradients of what experts were given: rows of theirs by the columns of the weights.
TEST_F(GemmNvfp4Grouped, ColumnsOfTheWeightsAreReadAsOneByOne) {
  for (const ScaleLayout layout : layouts_) {
    for (const std::int64_t depth : {64, 48}) {
      const bool row_scaled = layout == ScaleLayout::s128x4;
      const QuantizedGroup a =
          group(values(162 + kHidden, depth, 73), offsets_, {row_scaled, layout});
      const QuantizedGroup b = group(values(5 * depth, kCols, 74), every(depth), {false, layout});
      GemmNvfp4Options options = on_host();
      options.layout = "NN";
      const Tensor out = room(162 + kHidden, kCols);
      gemm_nvfp4_grouped(*runtime_, a, b, out, options).value();
      expect_members(a, b, out, offsets_, every(depth), offsets_, options);
    }
  }
}

// The gradients of weights: the rows of each expert are what is summed over, and how many only the
// device knows.
TEST_F(GemmNvfp4Grouped, RowsOfMembersAreMultipliedAlongAsOneByOne) {
  for (const ScaleLayout layout : layouts_) {
    const std::int64_t cols_of_a = 48;
    const QuantizedGroup a = group(values(162 + kHidden, cols_of_a, 75), offsets_, {false, layout});
    const QuantizedGroup b = group(values(162 + kHidden, kCols, 76), offsets_, {false, layout});
    GemmNvfp4Options options = on_host();
    options.layout = "NT";
    const Tensor out = room(5 * cols_of_a, kCols);
    gemm_nvfp4_grouped(*runtime_, a, b, out, options).value();
    expect_members(a, b, out, offsets_, offsets_, every(cols_of_a), options);
    const float* first = static_cast<const float*>(out.data);
    EXPECT_EQ(std::count(first, first + cols_of_a * kCols, 0.0f), cols_of_a * kCols)
        << "a member without rows";
  }
}

TEST_F(GemmNvfp4Grouped, WholePairsOfBlocksThatTheHostKnowsAreReadAtOnce) {
  const Offsets offsets = {0, 0, 32, 160, 160, 224};
  QuantizedGroup a = group(values(224, 48, 77), offsets, {});
  QuantizedGroup b = group(values(224, kCols, 78), offsets, {});
  GemmNvfp4Options options = on_host();
  options.layout = "NT";
  const Tensor out = room(5 * 48, kCols), accumulated = room(5 * 48, kCols);
  const auto wide = [&] {
    return PreparedGemmNvfp4::Request::of(a, b, out, options, device_->properties()).aligned;
  };
  EXPECT_FALSE(wide());
  a.host_row_offsets = b.host_row_offsets = offsets.data();
  EXPECT_TRUE(wide());
  gemm_nvfp4_grouped(*runtime_, a, b, out, options).value();
  expect_members(a, b, out, offsets, offsets, every(48), options);
  for (std::int64_t i = 0; i < 5; ++i) {  // each by gemm_nvfp4 itself
    if (offsets[std::size_t(i)] == offsets[std::size_t(i + 1)]) continue;
    const Tensor one = room(48, kCols);
    gemm_nvfp4(*runtime_, a.member(i).value(), b.member(i).value(), one, options).value();
    EXPECT_EQ(std::memcmp(one.data, static_cast<float*>(out.data) + i * 48 * kCols,
                          48 * kCols * sizeof(float)),
              0);
  }
  std::memcpy(accumulated.data, out.data, 5 * 48 * kCols * sizeof(float));
  options.accumulate = true;
  gemm_nvfp4_grouped(*runtime_, a, b, accumulated, options).value();
  for (std::int64_t i = 0; i < 5 * 48 * kCols; ++i) {
    EXPECT_EQ(static_cast<float*>(accumulated.data)[i], 2 * static_cast<float*>(out.data)[i]);
  }
}

TEST_F(GemmNvfp4Grouped, OfMembersRowsOnlyTheRealOnesAreMultiplied) {
  const Offsets offsets = every(40);
  const std::vector<std::int32_t> counts = {40, 0, 17, 32, 1};
  QuantizedGroup a = group(values(200, 48, 79), offsets, {}, counts);
  QuantizedGroup b = group(values(200, kCols, 80), offsets, {}, counts);
  GemmNvfp4Options options = on_host();
  options.layout = "NT";
  const Tensor out = room(5 * 48, kCols);
  gemm_nvfp4_grouped(*runtime_, a, b, out, options).value();
  a.host_row_counts = b.host_row_counts = counts.data();
  expect_members(a, b, out, offsets, offsets, every(48), options);
}

}  // namespace
}  // namespace diecast
