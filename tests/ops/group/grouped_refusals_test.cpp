// What a prepared op for groups refuses of element types, sides and amaxes, before anything is
// filled or launched. On a fake GPU.
#include <diecast/base/text.h>

#include "ops/fake_gpu.h"

namespace diecast {
namespace {

class GroupedRefusals : public testing::OnFakeGpu {
 protected:
  using Amax = PreparedAmaxGrouped;
  using Quantize = PreparedQuantizeNvfp4Grouped;

  GroupedRefusals() : x_{memory(kRows * 64 * 2), DType::bf16, Shape{kRows, 64}, 0, nullptr} {
    group_.whole.shape = x_.shape;
    group_.count = 2;
    group_.host_row_offsets = offsets_.data();
    group_.device_row_offsets = static_cast<std::int64_t*>(memory(3 * 8));
    group_.members = static_cast<MemberDescriptor*>(memory(2 * 96));
    group_.whole.rowwise = group_.rowwise_sizes().value();
    group_.whole.columnwise = group_.columnwise_sizes().value();
    allocate(group_.whole.rowwise), allocate(group_.whole.columnwise);
    pairs_ = {{x_, output()}, {x_, output()}};
    members_ = static_cast<MemberDescriptor*>(memory(2 * 96));
  }
  QuantizedTensor output(bool row_scaled = false) {
    QuantizedTensor out;
    out.shape = Shape{kRows, 64};
    out.type.row_scaled = row_scaled;
    out.rowwise = out.rowwise_sizes().value();
    out.columnwise = out.columnwise_sizes().value();
    allocate(out.rowwise), allocate(out.columnwise);
    return out;
  }
  TensorGroup pairs() const { return {pairs_, members_}; }
  Amax prepared(AmaxPer per, DType in = DType::bf16, bool shared = false) {
    Amax::Request request;
    request.in = in;
    request.per = per;
    request.shared = shared;
    return Amax::prepare(*runtime_, device_, request).value();
  }
  // "done", or what was refused before anything was filled or launched.
  std::string outcome(const Result<void>& done) {
    if (done) return "done";
    EXPECT_TRUE(machine_.cuda->launches.empty());
    EXPECT_EQ(machine_.cuda->count("cuMemsetD8Async"), 0);
    return done.error().message();
  }

  static constexpr std::int64_t kRows = 32;
  static constexpr Sides kRowwise = Sides::rowwise, kColumnwise = Sides::columnwise,
                         kBoth = Sides::both;
  const std::vector<std::int64_t> offsets_ = {0, 16, 32};
  Tensor x_;
  QuantizedGroup group_;
  std::vector<QuantizedPair> pairs_;
  MemberDescriptor* members_ = nullptr;
};

TEST_F(GroupedRefusals, QuantizingAnotherElementTypeThanPreparedFor) {
  for (const DType in : {DType::f16, DType::f32}) {
    Quantize::Request request;
    request.sides = Sides::both;
    request.in = in;
    const auto op = Quantize::prepare(*runtime_, device_, request).value();
    const std::string name(dtype_name(in));
    const std::string want =
        "diecast: dtype_mismatch: quantize_nvfp4_grouped: x is bf16, "
        "prepared for " +
        name + "\n  fix: pass x as " + name + ", or prepare another op for this input";
    EXPECT_EQ(outcome(op.run(x_, group_, {})), want);
    EXPECT_EQ(outcome(op.run(pairs(), {})), want);
  }
}

TEST_F(GroupedRefusals, QuantizingAMatrixOfAnotherShapeOrWithACountOfItsOwn) {
  Quantize::Request of_both;
  of_both.sides = Sides::both;
  const auto nvfp4 = Quantize::prepare(*runtime_, device_, of_both).value();
  const auto mx = PreparedQuantizeMxGrouped::prepare(*runtime_, device_, {}).value();
  QuantizedGroup mx_group = group_;
  mx_group.whole.type.format = Format::mxfp8_e4m3;
  mx_group.whole.rowwise = mx_group.rowwise_sizes().value();
  mx_group.whole.columnwise = {};
  allocate(mx_group.whole.rowwise);
  const auto expect = [&](std::string_view code, const std::string& what) {
    EXPECT_EQ(outcome(nvfp4.run(x_, group_, {})),
              cat("diecast: ", code, ": quantize_nvfp4_grouped: ", what));
    EXPECT_EQ(outcome(mx.run(x_, mx_group, {})),
              cat("diecast: ", code, ": quantize_mx_grouped: ", what));
  };
  for (const Shape& shape : {Shape{kRows - 1, 64}, Shape{kRows + 1, 64}, Shape{kRows, 48}}) {
    x_.shape = shape;
    expect("shape_mismatch", cat("x is ", shape.text(), ", the group [32, 64]\n",
                                 "  fix: describe the group with shape ", shape.text()));
  }
  x_.shape = group_.whole.shape;
  x_.device_rows = group_.device_row_offsets;
  expect("not_supported",
         "x has a row count in device memory\n"
         "  fix: leave x.device_rows null: the last row offset says how many rows count");
}

TEST_F(GroupedRefusals, MaximaOfAnotherElementTypeThanPreparedFor) {
  const std::string want =
      "diecast: dtype_mismatch: amax_grouped: x is bf16, prepared for f16\n"
      "  fix: pass x as f16, or prepare another op for this input";
  EXPECT_EQ(outcome(prepared(AmaxPer::tensor, DType::f16).run(pairs(), kBoth, {})), want);
  const Amax shared = prepared(AmaxPer::tensor, DType::f16, true);
  const std::vector<Tensor> list = {x_, x_};
  EXPECT_EQ(outcome(shared.run(list, group_.whole.rowwise.amax, false, {})), want);
}

TEST_F(GroupedRefusals, MaximaOfMembersByAnOpForOneMaximumAndTheOtherWayRound) {
  const std::string start = "diecast: not_supported: amax_grouped: prepared for ";
  const Amax shared = prepared(AmaxPer::tensor, DType::bf16, true);
  const std::string of_list = start + "a list of matrices\n  fix: prepare with shared = false";
  EXPECT_EQ(outcome(shared.run(group_, kBoth, {})), of_list);
  EXPECT_EQ(outcome(shared.run(pairs(), kBoth, {})), of_list);
  const std::vector<Tensor> list = {x_, x_};
  EXPECT_EQ(outcome(prepared(AmaxPer::tensor).run(list, group_.whole.rowwise.amax, false, {})),
            start + "the members of a group\n  fix: prepare with shared = true");
}

TEST_F(GroupedRefusals, ASideWithoutAnAmax) {
  const Amax op = prepared(AmaxPer::tensor);
  const std::string want =
      "diecast: missing_buffer: amax_grouped: the columnwise amax is null\n"
      "  fix: pass device memory for f32 ";
  group_.whole.columnwise = {};
  EXPECT_EQ(outcome(op.run(group_, kBoth, {})), want + "[2]");
  EXPECT_EQ(outcome(op.run(group_, kColumnwise, {})), want + "[2]");
  for (QuantizedPair& pair : pairs_) pair.out.columnwise = {};
  EXPECT_EQ(outcome(op.run(pairs(), kBoth, {})), want + "[1]");
  EXPECT_EQ(outcome(op.run(pairs(), kColumnwise, {})), want + "[1]");
  EXPECT_EQ(outcome(op.run(group_, kRowwise, {})), "done");
  EXPECT_EQ(outcome(op.run(pairs(), kRowwise, {})), "done");
}

// Of amaxes alone nobody else asks how many there are.
TEST_F(GroupedRefusals, AmaxesOfAnotherCountOrPlace) {
  const Amax op = prepared(AmaxPer::tensor);
  group_.whole.columnwise.data = group_.whole.columnwise.scale = nullptr;
  group_.whole.columnwise.amax_count = 1;
  EXPECT_EQ(outcome(op.run(group_, kBoth, {})),
            "diecast: shape_mismatch: amax_grouped: the columnwise amax has 1 entries, not 2\n"
            "  fix: amax_count = 2");
  float* const amax = group_.whole.rowwise.amax;
  group_.whole.rowwise.amax = reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(amax) + 1);
  const std::string_view fix = " is not at a multiple of 4 bytes\n  fix: allocate it as f32";
  EXPECT_EQ(outcome(op.run(group_, kRowwise, {})),
            std::string("diecast: misaligned: amax_grouped: the rowwise amax").append(fix));
  const std::vector<Tensor> list = {x_};
  EXPECT_EQ(outcome(prepared(AmaxPer::tensor, DType::bf16, true)
                        .run(list, group_.whole.rowwise.amax, false, {})),
            std::string("diecast: misaligned: amax_grouped: the result").append(fix));
}

TEST_F(GroupedRefusals, MaximaThatAGroupHasNoRoomFor) {
  const auto refused = [](const char* maximum, const char* row_scaled) {
    return std::string("diecast: not_supported: amax_grouped: prepared for one maximum a ") +
           maximum + ", asked for others of outputs with row_scaled = " + row_scaled +
           "\n  fix: a maximum a row belongs to row-scaled rowwise outputs, one a column to "
           "row-scaled columnwise ones";
  };
  EXPECT_EQ(outcome(prepared(AmaxPer::row).run(group_, kRowwise, {})), refused("row", "false"));
  EXPECT_EQ(outcome(prepared(AmaxPer::column).run(pairs(), kColumnwise, {})),
            refused("column", "false"));
  for (QuantizedPair& pair : pairs_) pair.out = output(true);
  EXPECT_EQ(outcome(prepared(AmaxPer::tensor).run(pairs(), kBoth, {})), refused("tensor", "true"));
  EXPECT_EQ(outcome(prepared(AmaxPer::row).run(pairs(), kBoth, {})), refused("row", "true"));
  EXPECT_EQ(outcome(prepared(AmaxPer::row).run(pairs(), kRowwise, {})), "done");
}

TEST_F(GroupedRefusals, GroupsAndRowsThatAKernelCannotRead) {
  const Amax op = prepared(AmaxPer::tensor);
  group_.members = nullptr;
  EXPECT_NE(outcome(op.run(group_, kBoth, {})).find("amax_grouped: group: the descriptors are "),
            std::string::npos);
  members_ = nullptr;
  EXPECT_NE(outcome(op.run(pairs(), kBoth, {})).find("amax_grouped: the descriptors are null"),
            std::string::npos);
  members_ = static_cast<MemberDescriptor*>(memory(2 * 96));
  pairs_[1].x.row_stride = 65;
  EXPECT_EQ(outcome(op.run(pairs(), kBoth, {})),
            "diecast: misaligned: amax_grouped: matrix 1 is not whole blocks of 16 from multiples "
            "of 16 bytes on, as prepared for\n  fix: prepare with rows = RowsClass::any");
}

// A pair without rows may have an amax or none.
TEST_F(GroupedRefusals, AnAmaxThatIsNotThereIsNotCleared) {
  pairs_[1].x.shape = pairs_[1].out.shape = Shape{0, 64};
  pairs_[1].x.data = nullptr;
  pairs_[1].out.rowwise = pairs_[1].out.rowwise_sizes().value();
  pairs_[1].out.columnwise = pairs_[1].out.columnwise_sizes().value();
  EXPECT_EQ(outcome(prepared(AmaxPer::tensor).run(pairs(), kBoth, {})), "done");
  const auto& launches = machine_.cuda->launches;
  EXPECT_EQ(std::ranges::count(launches, "zeros", &testing::FakeLaunch::symbol), 2);
}

}  // namespace
}  // namespace diecast
