// What gemm_nvfp4 refuses, each with its reason, before anything is prepared; and what a product
// launches. On a fake GPU.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;

class GemmRefusals : public ::testing::Test {
 protected:
  GemmRefusals() : runtime_(machine_.runtime()), device_(machine_.cuda.device()) {
    options_.device = device_;
    a_ = operand(8, 64), b_ = operand(24, 64);
    out_ = {memory(8 * 24 * 4), DType::f32, Shape{8, 24}, 0, nullptr};
  }
  void* memory(std::int64_t bytes) {
    return device_->allocate(static_cast<std::size_t>(bytes)).value();
  }
  void allocate(QuantizedSide& side) {
    side.data = memory(side.data_bytes);
    side.scale = memory(side.scale_bytes);
    side.amax = static_cast<float*>(memory(side.amax_count * 4));
  }
  QuantizedTensor operand(std::int64_t rows, std::int64_t cols, bool row_scaled = false,
                          bool columnwise = false) {
    QuantizedTensor q;
    q.shape = Shape{rows, cols};
    q.row_scaled = row_scaled;
    q.rowwise = q.rowwise_sizes().value();
    allocate(q.rowwise);
    if (!columnwise) return q;
    q.columnwise = q.columnwise_sizes().value();
    allocate(q.columnwise);
    return q;
  }
  Tensor bias(std::int64_t count, DType dtype = DType::f32) {
    return {memory(count * 4), dtype, Shape{count}, 0, nullptr};
  }
  std::string outcome() {
    const auto done = gemm_nvfp4(*runtime_, a_, b_, out_, options_);
    EXPECT_TRUE(done || machine_.cuda->launches.empty());
    return done ? "ok" : done.error().message();
  }
  // Each refusal is of Release builds too: an Error, and nothing was compiled.
  void expect(std::string_view code, std::string_view what, std::string_view fix) {
    EXPECT_EQ(outcome(), std::string("diecast: ")
                             .append(code)
                             .append(": gemm_nvfp4: ")
                             .append(what)
                             .append("\n  fix: ")
                             .append(fix));
    EXPECT_TRUE(machine_.nvrtc.compiles().empty());
  }

  FakeMachine machine_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Device> device_;
  QuantizedTensor a_, b_;
  Tensor out_;
  GemmNvfp4Options options_;
};

TEST_F(GemmRefusals, WrongLayoutLetters) {
  for (const std::string_view letters : {"TT", "tn", "T", ""}) {
    options_.layout = letters;
    expect("value_not_allowed", std::string("layout = ").append(letters),
           "layout = TN (both rowwise), NN (b columnwise) or NT (both columnwise)");
  }
}

TEST_F(GemmRefusals, ASideThatIsNotThere) {
  options_.layout = "NN";
  b_ = operand(64, 24);
  expect("missing_buffer", "b has no columnwise buffers",
         "quantize b columnwise too, or choose a layout that reads its other side");
}

TEST_F(GemmRefusals, AnotherFormat) {
  a_.format = Format::mxfp4;
  expect("not_supported", "a is mxfp4",
         "both operands are nvfp4: quantize_nvfp4 or quantize_nvfp4_tiles makes one");
}

TEST_F(GemmRefusals, AMissingAmax) {
  b_.rowwise.amax = nullptr;
  expect("missing_buffer", "b has no rowwise amax, which the product needs",
         "set b.rowwise.amax to f32 [1] in device memory");
  b_ = operand(24, 64);
  a_ = operand(8, 64, true);
  a_.rowwise.amax = nullptr;
  expect("missing_buffer", "a has no rowwise amax, which the product needs",
         "set a.rowwise.amax to f32 [8] in device memory");
}

TEST_F(GemmRefusals, AmaxesOfAnotherCount) {
  a_ = operand(8, 64, true);
  a_.rowwise.amax_count = 7;
  expect("shape_mismatch", "a: the rowwise amax has 7 entries where row_scaled = true needs 8",
         "amax_count = 8, or row_scaled = false");
  a_ = operand(8, 64);
  b_.rowwise.amax_count = 24;
  expect("shape_mismatch", "b: the rowwise amax has 24 entries where row_scaled = false needs 1",
         "amax_count = 1, or row_scaled = true");
}

TEST_F(GemmRefusals, ScalesOfTwoLayouts) {
  b_.layout = ScaleLayout::s128x4;
  expect("not_supported", "a has linear scales, b s128x4",
         "give both operands one layout: arrange_scales turns linear into tiles");
}

TEST_F(GemmRefusals, RowScalesOnASideThatCannotTakeThem) {
  options_.layout = "NT";
  a_ = operand(64, 8, true, true), b_ = operand(64, 24, false, true);
  expect("not_supported", "a is row-scaled, and layout NT reads its columns",
         "layout = TN or NN, or quantize a with one amax");
  options_.layout = "NN";
  a_ = operand(8, 64), b_ = operand(64, 24, true, true);
  expect("not_supported", "b is row-scaled, and its columns are read",
         "layout = TN, or quantize b with one amax");
}

TEST_F(GemmRefusals, RowScalesOrABiasWithAGradient) {
  options_.gradient = true;
  a_ = operand(8, 64, true);
  expect("not_supported", "a is row-scaled, and the product is a gradient",
         "quantize the operands of a gradient with one amax each");
  a_ = operand(8, 64);
  options_.bias = bias(24);
  expect("not_supported", "a bias, and the product is a gradient",
         "bias = {}: its gradient is a sum of its own, or gradient = false");
}

TEST_F(GemmRefusals, ABiasOfAnotherTypeOrLength) {
  options_.bias = bias(24, DType::e4m3);
  expect("dtype_mismatch", "bias is e4m3", "bias is bf16, f16 or f32");
  options_.bias = bias(23);
  expect("shape_mismatch", "bias is [23], not 1 dense rows of 24", "pass a bias of 24 numbers");
  options_.bias->data = nullptr;
  EXPECT_NE(outcome().find("missing_buffer: gemm_nvfp4: bias"), std::string::npos) << outcome();
}

TEST_F(GemmRefusals, AnOutputThatIsNoPlainMatrix) {
  out_.dtype = DType::e4m3;
  expect("dtype_mismatch", "out is e4m3", "out is bf16, f16 or f32; quantize it afterwards");
  out_.dtype = DType::f32;
  out_.row_stride = 32;
  expect("not_supported", "rows of out are 32 elements apart, not 24",
         "pass a dense out, row_stride = 0");
  out_.row_stride = 0;
  const std::int64_t rows = 8;
  out_.device_rows = &rows;
  expect("not_supported", "out has a row count in device memory",
         "leave out.device_rows null: every row of a is multiplied");
  out_.device_rows = nullptr;
  out_.shape = Shape{8, 23};
  expect("shape_mismatch", "out is [8, 23], the product [8, 24]", "pass out with 8 rows of 24");
}

TEST_F(GemmRefusals, DepthsThatDoNotMeet) {
  b_ = operand(24, 80);
  expect("shape_mismatch", "a has 64 products an element, b 80",
         "a is [M, K] and b [N, K] as the layout reads them, with one K");
  a_ = operand(8, 40), b_ = operand(24, 40);
  expect("shape_mismatch", "a is [8, 40], whose 40 products an element are no whole blocks of 16",
         "pad to 48");
  a_ = operand(8, 64);
  a_.rowwise.scale_stride = 1 << 25;
  expect("not_supported", "a has 64 products an element, its scales 33554432 bytes from row to row",
         "at most 16777216 of either: add parts with accumulate");
}

TEST_F(GemmRefusals, APreparedProductTakesWhatItWasPreparedFor) {
  const auto request = PreparedGemmNvfp4::Request::of(a_, b_, out_, options_, *device_);
  const auto op = PreparedGemmNvfp4::prepare(*runtime_, device_, request).value();
  EXPECT_EQ(op.scratch_bytes(8, 24), 0);
  op.run(a_, b_, out_, options_, {}).value();
  options_.accumulate = true;
  EXPECT_EQ(op.run(a_, b_, out_, options_, {}).error().message(),
            "diecast: not_supported: gemm_nvfp4: prepared for other operands: a row_scaled = "
            "false, b row_scaled = false, linear scales, out f32, bias = false, accumulate = "
            "false, grouped = false\n  fix: prepare with Request::of these operands");
}

// One launch, row scales, bias and accumulation in it: a post-scale is no pass of its own.
TEST_F(GemmRefusals, NothingButOneLaunchIsNeeded) {
  a_ = operand(8, 64, true);
  options_.bias = bias(24, DType::bf16);
  options_.accumulate = true;
  EXPECT_EQ(outcome(), "ok");
  ASSERT_EQ(machine_.cuda->launches.size(), 1u);
  const auto& launch = machine_.cuda->launches[0];
  EXPECT_EQ(launch.symbol, "gemm_nvfp4");
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.grid[0], 1u);
}

class GemmGroupRefusals : public GemmRefusals {
 protected:
  GemmGroupRefusals() {
    left_ = group(a_offsets_, 64), right_ = group(b_offsets_, 64);
    out_ = {memory(30 * 24 * 4), DType::f32, Shape{30, 24}, 0, nullptr};
  }
  QuantizedGroup group(const std::vector<std::int64_t>& offsets, std::int64_t cols) {
    QuantizedGroup out;
    out.count = static_cast<std::int64_t>(offsets.size()) - 1;
    out.whole.shape = Shape{offsets.back(), cols};
    out.host_row_offsets = offsets.data();
    out.members = static_cast<MemberDescriptor*>(memory(out.count * 96));
    out.whole.rowwise = out.rowwise_sizes().value();
    allocate(out.whole.rowwise);
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

TEST_F(GemmGroupRefusals, OneOutputAndNoRowsOfMembers) {
  left_.host_row_offsets = nullptr;
  expect_grouped(
      "diecast: missing_buffer: gemm_nvfp4: a: group: the group has no row offsets\n"
      "  fix: set host_row_offsets or device_row_offsets to 4 numbers");
  left_.host_row_offsets = a_offsets_.data();
  left_.members = nullptr;
  EXPECT_NE(grouped().find("gemm_nvfp4: a: group: the descriptors are null"), std::string::npos);
}

TEST_F(GemmGroupRefusals, LayoutsThatReadColumnsAndABiasForOneMember) {
  options_.layout = "NN";
  expect_grouped(
      "diecast: not_supported: gemm_nvfp4: layout = NN for groups\n"
      "  fix: layout = TN: members of groups are read along their rows");
  options_.layout = "TN";
  options_.bias = bias(24);
  expect_grouped(
      "diecast: shape_mismatch: gemm_nvfp4: bias is [24], not 3 dense rows of 24\n"
      "  fix: pass a bias of 72 numbers");
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
