// What gemm_nvfp4_grouped refuses: groups that are no pairs, members that are no matrices. On a
// fake GPU.
#include "ops/gemm_refusals.h"

namespace diecast {
namespace {

class GemmGroupRefusals : public GemmRefusals {
 protected:
  GemmGroupRefusals() {
    left_ = group(a_offsets_, 64), right_ = group(b_offsets_, 64);
    out_ = {memory(30 * 24 * 4), DType::f32, Shape{30, 24}, 0, nullptr};
  }
  QuantizedGroup group(const std::vector<std::int64_t>& offsets, std::int64_t cols,
                       bool columnwise = false) {
    QuantizedGroup out;
    out.count = static_cast<std::int64_t>(offsets.size()) - 1;
    out.whole.shape = Shape{offsets.back(), cols};
    out.host_row_offsets = offsets.data();
    out.members = static_cast<MemberDescriptor*>(memory(out.count * 96));
    out.whole.rowwise = out.rowwise_sizes().value();
    allocate(out.whole.rowwise);
    if (!columnwise) return out;
    out.whole.columnwise = out.columnwise_sizes().value();
    allocate(out.whole.columnwise);
    return out;
  }
  std::string grouped() {
    const auto done = gemm_nvfp4_grouped(*runtime_, left_, right_, out_, options_);
    return done ? "ok" : done.error().message();
  }
  void expect_grouped(std::string_view message) {
    EXPECT_EQ(grouped(), message);
    EXPECT_TRUE(machine_.nvrtc.compiles().empty());
  }
  const std::vector<std::int64_t> a_offsets_ = {0, 10, 10, 30}, b_offsets_ = {0, 24, 48, 72};
  const std::vector<std::int64_t> depth_offsets_ = {0, 64, 128, 192};
  QuantizedGroup left_, right_;
};

TEST_F(GemmGroupRefusals, GroupsThatAreNoPairs) {
  right_.count = 2;
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: a has 3 members, b 2\n"
      "  fix: give each member of a its weight");
  right_.count = 3;
  out_.shape = Shape{30, 23};
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: members of b do not have 23 rows each, the columns of "
      "out\n  fix: describe b as 3 members of 23 rows");
  out_.shape = Shape{29, 24};
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: out is [29, 24], the product [30, 24]\n"
      "  fix: pass out with 30 rows of 24");
}

TEST_F(GemmGroupRefusals, WeightsOfUnequalRows) {
  const std::vector<std::int64_t> uneven = {0, 24, 49, 72};
  right_.host_row_offsets = uneven.data();
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: members of b do not have 24 rows each, the columns of "
      "out\n  fix: describe b as 3 members of 24 rows");
  right_.host_row_offsets = b_offsets_.data();
  const std::vector<std::int32_t> counts = {24, 24, 3};
  right_.host_row_counts = counts.data();
  expect_grouped(
      "diecast: not_supported: gemm_nvfp4: members of b have row counts\n"
      "  fix: leave b's row counts null: all rows of a weight are real");
}

// Four times the columns of out are 72 in 64 bits.
TEST_F(GemmGroupRefusals, RowsOfMembersThatNoGroupCouldHave) {
  const std::vector<std::int64_t> a_of_four = {0, 10, 10, 30, 30}, b_of_four = {0, 18, 36, 54, 72};
  left_ = group(a_of_four, 64), right_ = group(b_of_four, 64);
  right_.host_row_offsets = nullptr;
  right_.device_row_offsets = static_cast<std::int64_t*>(memory(5 * 8));
  out_.shape = Shape{30, (std::int64_t{1} << 62) + 18};
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: members of b do not have 4611686018427387922 rows "
      "each, the columns of out\n"
      "  fix: describe b as 4 members of 4611686018427387922 rows");
}

TEST_F(GemmGroupRefusals, OneOutputAndNoRowsOfMembers) {
  left_.host_row_offsets = nullptr;
  expect_grouped(
      "diecast: missing_buffer: gemm_nvfp4: a: group: the group has no row offsets\n"
      "  fix: set host_row_offsets or device_row_offsets to 4 numbers");
  left_.host_row_offsets = a_offsets_.data();
  left_.members = nullptr;
  EXPECT_NE(grouped().find("gemm_nvfp4: a: group: the descriptors are null"), std::string::npos);
}

TEST_F(GemmGroupRefusals, ABiasForOneMember) {
  options_.bias = bias(24);
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: bias is [24], not 3 dense rows of 24\n"
      "  fix: pass a bias of 72 numbers");
}

TEST_F(GemmGroupRefusals, PathsOfMatrices) {
  options_.path = "cublaslt";
  expect_grouped(
      "diecast: not_supported: gemm_nvfp4: path = cublaslt for groups\n"
      "  fix: path = own or auto: members may have rows that the device alone knows, or gemm_nvfp4 "
      "of each member");
  options_.path = "library";
  expect_grouped(
      "diecast: value_not_allowed: gemm_nvfp4: path = library\n"
      "  fix: path = own, unpacked, cublaslt or auto");
  options_.path = "auto";
  EXPECT_EQ(grouped(), "ok");
}

TEST_F(GemmGroupRefusals, ColumnsThatAreNotThere) {
  options_.layout = "TT";
  expect_grouped(
      "diecast: value_not_allowed: gemm_nvfp4: layout = TT\n"
      "  fix: layout = TN (both rowwise), NN (b columnwise) or NT (both columnwise)");
  options_.layout = "NN";
  expect_grouped(
      "diecast: missing_buffer: gemm_nvfp4: b has no columnwise buffers\n"
      "  fix: quantize b columnwise too, or choose a layout that reads its other side");
  options_.layout = "NT";
  expect_grouped(
      "diecast: missing_buffer: gemm_nvfp4: a has no columnwise buffers\n"
      "  fix: quantize a columnwise too, or choose a layout that reads its other side");
}

TEST_F(GemmGroupRefusals, ColumnsOfWeightsWithoutTheDepthOfTheOthers) {
  options_.layout = "NN";
  right_ = group(b_offsets_, 24, true);
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: members of b do not have 64 rows each, the columns of "
      "a\n  fix: describe b as 3 members of 64 rows");
  right_ = group(depth_offsets_, 24, true);
  right_.whole.type.row_scaled = true;
  right_.whole.columnwise.amax_count = 72, right_.whole.rowwise.amax_count = 192;
  expect_grouped(
      "diecast: not_supported: gemm_nvfp4: b is row-scaled, and its columns are read\n"
      "  fix: layout = TN, or quantize b with one amax");
  right_ = group(depth_offsets_, 24, true);
  EXPECT_EQ(grouped(), "ok");
}

TEST_F(GemmGroupRefusals, MembersOfUnequalRowsThatAreMultipliedAlong) {
  options_.layout = "NT";
  const std::string_view fix =
      "\n  fix: members of a and b have the same rows: give both groups the same offsets and row "
      "counts";
  const auto expect_unequal = [&](std::string_view what) {
    expect_grouped(
        std::string("diecast: shape_mismatch: gemm_nvfp4: layout NT: ").append(what).append(fix));
  };
  const std::vector<std::int64_t> other = {0, 12, 12, 30}, longer = {0, 10, 10, 40};
  const std::vector<std::int32_t> counts = {10, 0, 20}, fewer = {9, 0, 20};
  left_ = group(a_offsets_, 64, true);
  right_ = group(longer, 24, true);
  expect_unequal("a has 30 rows, b 40");
  right_ = group(other, 24, true);
  expect_unequal("member 0 ends at row 10 of a, 12 of b");
  right_ = group(a_offsets_, 24, true);
  right_.host_row_counts = counts.data();
  expect_unequal("members of b alone have row counts");
  left_.host_row_counts = fewer.data();
  expect_unequal("member 0 has 9 rows in a, 10 in b");
  left_.host_row_counts = counts.data();
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: out is [30, 24], the product [192, 24]\n"
      "  fix: pass out with 192 rows of 24");
  out_ = {memory(192 * 24 * 4), DType::f32, Shape{192, 24}, 0, nullptr};
  EXPECT_EQ(grouped(), "ok");
}

TEST_F(GemmGroupRefusals, CodesThatNoMemberCouldStartAt) {
  left_.whole.rowwise.data = static_cast<std::uint8_t*>(left_.whole.rowwise.data) + 4;
  expect_grouped(
      "diecast: misaligned: gemm_nvfp4: the codes of a start 4 bytes past a multiple of 8, the "
      "amax "
      "0 past one of 4\n  fix: start codes at multiples of 8 bytes and amaxes at multiples of 4");
}

TEST_F(GemmGroupRefusals, ReadingPairsOfBlocksAtOnceThatMayNotBeWhole) {
  left_ = group(depth_offsets_, 48, true), right_ = group(depth_offsets_, 48, true);
  options_.layout = "NT";
  const auto wide = [&] {
    return PreparedGemmNvfp4::Request::of(left_, right_, out_, options_, device_->properties())
        .aligned;
  };
  EXPECT_TRUE(wide());
  for (QuantizedGroup* one : {&left_, &right_}) {
    void*& codes = one->whole.columnwise.data;
    codes = static_cast<std::uint8_t*>(codes) + 8;
    EXPECT_FALSE(wide());
    codes = static_cast<std::uint8_t*>(codes) - 8;
  }
  const std::vector<std::int32_t> whole = {64, 32, 0}, odd = {64, 41, 64};
  left_.device_row_counts = static_cast<std::int32_t*>(memory(3 * 4));
  EXPECT_FALSE(wide()) << "counts that the host does not know";
  left_.host_row_counts = odd.data();
  EXPECT_FALSE(wide());
  left_.host_row_counts = whole.data();
  EXPECT_TRUE(wide());
  const std::vector<std::int64_t> odd_offsets = {0, 48, 128, 192};
  left_.host_row_offsets = odd_offsets.data();
  EXPECT_FALSE(wide());
  left_.host_row_offsets = nullptr;
  EXPECT_FALSE(wide()) << "offsets that the host does not know";
}

TEST_F(GemmGroupRefusals, WhatIsWholeIsOneLaunchAndAnEmptyGroupNone) {
  EXPECT_EQ(grouped(), "ok");
  ASSERT_EQ(machine_.cuda->launches.size(), 1u);
  const std::vector<std::int64_t> none = {0};
  left_ = group(none, 64), right_ = group(none, 64);
  out_.shape = Shape{0, 24};
  EXPECT_EQ(grouped(), "ok");
  EXPECT_EQ(machine_.cuda->launches.size(), 1u);
}

}  // namespace
}  // namespace diecast
