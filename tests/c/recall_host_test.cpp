// Calls like a thread's last one, which are neither checked nor read again: whatever changes from
// one call to the next, they do what a first call does.
#include <algorithm>
#include <cstring>

#include "c/recall_fixture.h"

namespace diecast {
namespace {

using testing::CRecall;
using testing::CTensor;
using testing::Handle;
using testing::kCols;
using testing::kRows;
using testing::last_error;
using testing::Memory;

TEST_F(CRecall, ShapesThatCannotBeAreRefusedBehindAGoodCall) {
  Memory memory(0.1F);
  repeat(memory);
  diecast_tensor wrong = *memory.x.get();
  auto tensors = memory.tensors();
  tensors.x = &wrong;
  const auto refused = [&] {
    return diecast_quantize_nvfp4(runtime_, host_, &tensors, &options_, nullptr) != diecast_ok;
  };
  wrong.shape = nullptr;
  EXPECT_TRUE(refused());
  std::int64_t largest[] = {INT64_MAX, INT64_MAX};
  wrong.shape = largest;
  EXPECT_TRUE(refused());
  wrong.ndim = INT32_MAX;
  EXPECT_TRUE(refused());
}

TEST_F(CRecall, OtherAddressesGiveWhatAFirstCallGives) {
  expect_same([&](Memory& m) { return quantize(m); });
  expect_same([&](Memory& m) {
    diecast_amax_tensors of{};
    of.size = sizeof of;
    of.x = m.x.get(), of.out = m.amax.get();
    const auto options = diecast_amax_defaults();
    return diecast_amax(runtime_, host_, &of, &options, nullptr);
  });
  expect_same([&](Memory& m) {
    const auto options = diecast_dequantize_nvfp4_defaults();
    diecast_dequantize_nvfp4_tensors of{};
    of.size = sizeof of;
    of.data = m.data.get(), of.scale = m.scale.get(), of.amax = m.amax.get();
    of.out = m.back.get();
    const int code = quantize(m);
    return code != diecast_ok ? code
                              : diecast_dequantize_nvfp4(runtime_, host_, &of, &options, nullptr);
  });
}

TEST_F(CRecall, AddressesThatStayAndComeBackAreThoseOfTheCall) {
  Memory one(0.1F), other(0.2F), alone(0.1F), other_alone(0.2F);
  const auto call = [&](Memory& m) { return quantize(m); };
  ASSERT_EQ(first(call, alone), diecast_ok);
  ASSERT_EQ(first(call, other_alone), diecast_ok);
  for (const int turn : {0, 0, 1, 0, 1, 1, 0}) {
    Memory& memory = turn == 0 ? one : other;
    std::fill(memory.data_.begin(), memory.data_.end(), std::uint8_t{0xAA});
    ASSERT_EQ(quantize(memory), diecast_ok) << last_error();
    EXPECT_TRUE(memory.same_as(turn == 0 ? alone : other_alone));
  }
}

TEST_F(CRecall, OfMxToo) {
  expect_same([&](Memory& m) {
    const CTensor codes(m.data_, {kRows, kCols}), scales(m.scale_, {kRows, kCols / 32});
    diecast_quantize_mx_tensors to{};
    to.size = sizeof to;
    to.x = m.x.get(), to.out_data = codes.get(), to.out_scale = scales.get();
    const auto options = diecast_quantize_mx_defaults();
    if (const int code = diecast_quantize_mx(runtime_, host_, &to, &options, nullptr)) return code;
    diecast_dequantize_mx_tensors from{};
    from.size = sizeof from;
    from.data = codes.get(), from.scale = scales.get(), from.out = m.back.get();
    const auto defaults = diecast_dequantize_mx_defaults();
    return diecast_dequantize_mx(runtime_, host_, &from, &defaults, nullptr);
  });
}

TEST_F(CRecall, PreparedOpsToo) {
  Memory memory(0.5F);
  const auto tensors = memory.tensors();
  Handle op;
  ASSERT_EQ(
      diecast_op_prepare(runtime_, host_, diecast_op_quantize_nvfp4, &tensors, &options_, op.to()),
      diecast_ok)
      << last_error();
  expect_same([&](Memory& m) {
    const auto of = m.tensors();
    return diecast_op_run(op, &of, &options_, nullptr);
  });
}

TEST_F(CRecall, WhatChangedIsChecked) {
  Memory memory(0.6F);
  repeat(memory);
  const auto refused = [&](const std::function<void(Memory&)>& change) {
    Memory other(0.7F);
    change(other);
    EXPECT_NE(quantize(other), diecast_ok);
    const std::string error = last_error();
    repeat(memory);
    return error.substr(0, error.find(':'));
  };
  EXPECT_EQ(refused([](Memory& m) { m.data->data = m.x_.data(); }), "invalid_argument");
  EXPECT_EQ(refused([](Memory& m) { m.scale->data = m.data_.data() + 5; }), "invalid_argument");
  EXPECT_EQ(refused([](Memory& m) { m.x->data = nullptr; }), "missing_buffer");
  EXPECT_EQ(refused([](Memory& m) { m.x->device_type = 2; }), "invalid_argument");
  EXPECT_EQ(refused([](Memory& m) { m.x->type_code = 0; }), "dtype_mismatch");
  EXPECT_EQ(refused([](Memory& m) { m.data->shape[0] = 2; }), "shape_mismatch");
  EXPECT_EQ(refused([](Memory& m) { m.x->byte_offset = 2; }), "misaligned");
  std::int64_t apart[] = {2 * kCols, 2};
  EXPECT_EQ(refused([&](Memory& m) { m.x->strides = apart; }), "shape_mismatch");
}

TEST_F(CRecall, AWordWrittenOverAnotherIsRead) {
  char layout[] = "linear";
  options_.layout = layout;
  Memory memory(0.8F);
  repeat(memory);
  std::strcpy(layout, "s8x4");
  EXPECT_NE(quantize(memory), diecast_ok);  // 8 rows of 4 scales have no room
  EXPECT_NE(last_error().find("scale"), std::string::npos);
}

TEST_F(CRecall, AnEmptyWordIsNotTakenForOneThatWasLeftOut) {
  options_.profile = "te";
  Memory memory(0.8F);
  repeat(memory);
  options_.layout = "";
  EXPECT_EQ(quantize(memory), diecast_value_not_allowed);
}

TEST_F(CRecall, RowsApartAndOffsetsAreRead) {
  Memory memory(0.9F), apart(0.9F);
  repeat(memory);
  std::int64_t strides[] = {2 * kCols, 1};
  for (std::size_t row = kRows; row-- > 0;)
    std::memmove(&apart.x_[row * 2 * kCols], &apart.x_[row * kCols], kCols * sizeof(float));
  apart.x->strides = strides;
  repeat(apart);
  EXPECT_TRUE(apart.same_as(memory));
}

TEST_F(CRecall, AnotherRuntimePreparesForItself) {
  Memory memory(1.0F);
  repeat(memory);
  Handle other;
  ASSERT_EQ(testing::open_test_runtime(other.to()), diecast_ok) << last_error();
  EXPECT_EQ(found(runtime_, host_, memory), diecast_ok);
  EXPECT_EQ(found(other, host_, memory), DIECAST_NOT_PREPARED);
  ASSERT_EQ(diecast_close(*other.to()), diecast_ok);
  EXPECT_NE(found(*other.to(), host_, memory), diecast_ok);
}

}  // namespace
}  // namespace diecast
