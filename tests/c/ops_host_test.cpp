// Ops through the C interface: the bits of C++, and typed errors for whatever a caller gets wrong.
#include <diecast/launch/host_device.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/quantized_buffer.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "c/c_fixture.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::Handle;
using testing::last_error;

// A matrix of [3, 64] with its quantized form.
class COps : public COnHost {
 protected:
  COps() {
    for (std::size_t i = 0; i < x_.size(); ++i)
      x_[i] = std::sin(static_cast<float>(i)) * static_cast<float>(i % 7);
    tensors_.size = sizeof tensors_;
    tensors_.x = x.get();
    tensors_.out_data = data.get();
    tensors_.out_scale = scale.get();
    tensors_.out_amax = amax.get();
  }
  int quantize(const diecast_quantize_nvfp4_options* options = nullptr) {
    return diecast_quantize_nvfp4(runtime_, host_, &tensors_, options, nullptr);
  }
  // The error of a call, and that it wrote nothing.
  std::string refused(const diecast_quantize_nvfp4_options* options = nullptr) {
    data_.assign(data_.size(), 0xAA);
    EXPECT_NE(quantize(options), diecast_ok);
    EXPECT_EQ(data_, std::vector<std::uint8_t>(data_.size(), 0xAA));
    const std::string error = last_error();
    return error.substr(0, error.find('\n'));
  }

  // Twice as long as it is read, so that as f64 it would still lie beside the outputs.
  std::vector<float> x_ = std::vector<float>(2 * 3 * 64), amax_ = {0};
  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(3 * 32);
  std::vector<std::uint8_t> scale_ = std::vector<std::uint8_t>(3 * 4);
  CTensor x{x_, {3, 64}}, data{data_, {3, 32}}, scale{scale_, {3, 4}}, amax{amax_, {1}};
  diecast_quantize_nvfp4_tensors tensors_{};
};

TEST_F(COps, HaveTheBitsOfCpp) {
  const auto device = open_host_device().value();
  const Tensor of{x_.data(), DType::f32, {3, 64}};
  const auto expected = QuantizedBuffer::allocate(device, of.shape).value();
  quantize_nvfp4(*test_runtime(), of, expected.tensor(), {.device = device}).value();
  ASSERT_EQ(quantize(), diecast_ok) << last_error();
  const QuantizedSide& side = expected.tensor().rowwise;
  EXPECT_EQ(std::memcmp(data_.data(), side.data, data_.size()), 0);
  EXPECT_EQ(std::memcmp(scale_.data(), side.scale, scale_.size()), 0);
  EXPECT_EQ(amax_[0], *side.amax);
}

TEST_F(COps, ComeBackAsTheyWentIn) {
  ASSERT_EQ(quantize(), diecast_ok) << last_error();
  std::vector<float> back_(3 * 64);
  CTensor back(back_, {3, 64});
  diecast_dequantize_nvfp4_tensors read{};
  read.size = sizeof read;
  read.data = data.get();
  read.scale = scale.get();
  read.amax = amax.get();
  read.out = back.get();
  ASSERT_EQ(diecast_dequantize_nvfp4(runtime_, host_, &read, nullptr, nullptr), diecast_ok)
      << last_error();
  for (std::size_t i = 0; i < back_.size(); ++i) EXPECT_NEAR(back_[i], x_[i], 1.0f) << i;
  read.amax = nullptr;
  EXPECT_EQ(diecast_dequantize_nvfp4(runtime_, host_, &read, nullptr, nullptr),
            diecast_invalid_argument);
}

// As torch has tensors without elements: at no address, with strides of any kind.
TEST_F(COps, OfNothingFindAmaxesOfZero) {
  std::vector<float> nothing, of_columns = {7};
  std::vector<std::uint8_t> none;
  std::int64_t strides[] = {1, 1};
  CTensor no_rows(nothing, {0, 64}), no_data(none, {0, 32}), no_scale(none, {0, 4});
  CTensor no_data_t(none, {64, 0}), no_scale_t(none, {64, 0}), amax_t(of_columns, {1});
  no_data_t->strides = no_scale_t->strides = strides;
  tensors_.x = no_rows.get();
  tensors_.out_data = no_data.get(), tensors_.out_scale = no_scale.get();
  tensors_.out_data_t = no_data_t.get(), tensors_.out_scale_t = no_scale_t.get();
  tensors_.out_amax_t = amax_t.get();
  amax_[0] = 7;
  ASSERT_EQ(quantize(), diecast_ok) << last_error();
  EXPECT_EQ(amax_[0], 0);
  EXPECT_EQ(of_columns[0], 0);
}

TEST_F(COps, TakeNoMoreGlobalScalesThanThereAre) {
  std::vector<float> two_ = {1, 2};
  CTensor two(two_, {2});
  tensors_.amax = two.get(), tensors_.out_amax = nullptr;
  EXPECT_EQ(refused(), "shape_mismatch: quantize_nvfp4: amax has 2 elements, not 1");
}

TEST_F(COps, SayWhatTheyWouldWrite) {
  diecast_output outputs[32];
  std::size_t count = 0;
  diecast_quantize_nvfp4_options options = diecast_quantize_nvfp4_defaults();
  options.direction = "both";
  options.layout = "s128x4";
  ASSERT_EQ(diecast_op_outputs(diecast_op_quantize_nvfp4, &tensors_, &options, outputs, 32, &count),
            diecast_ok)
      << last_error();
  std::string all;
  const diecast_op_info* info = nullptr;
  diecast_op_describe(diecast_op_quantize_nvfp4, &info);
  for (std::size_t i = 0; i < count; ++i) {
    all += std::string(info->tensors[outputs[i].index].name) + " " + outputs[i].dtype;
    for (int d = 0; d < outputs[i].ndim; ++d) all += " " + std::to_string(outputs[i].shape[d]);
    all += "; ";
  }
  EXPECT_EQ(all,
            "out_data u8 3 32; out_scale e4m3 128 4; out_amax f32 1; out_data_t u8 64 8; "
            "out_scale_t e4m3 128 4; out_amax_t f32 1; ");
  EXPECT_EQ(diecast_op_outputs(diecast_op_quantize_nvfp4, &tensors_, &options, outputs, 2, &count),
            diecast_shape_mismatch);
}

TEST_F(COps, ThatAreFoundAreNotPrepared) {
  Handle fresh;
  ASSERT_EQ(testing::open_test_runtime(fresh.to()), diecast_ok);
  const auto call = [&](int found_only) {
    return diecast_op_call(fresh, host_, diecast_op_quantize_nvfp4, &tensors_, nullptr, nullptr,
                           found_only);
  };
  EXPECT_EQ(call(1), DIECAST_NOT_PREPARED);
  EXPECT_EQ(call(0), diecast_ok) << last_error();
  EXPECT_EQ(call(1), diecast_ok) << last_error();
  ASSERT_EQ(diecast_freeze(fresh, 0), diecast_ok);
  EXPECT_EQ(call(0), diecast_ok) << last_error();
  diecast_quantize_nvfp4_options other = diecast_quantize_nvfp4_defaults();
  other.profile = "torchao";
  EXPECT_EQ(diecast_quantize_nvfp4(fresh, host_, &tensors_, &other, nullptr), diecast_frozen);
}

TEST_F(COps, RefuseOptionsThatMakeNoSense) {
  diecast_quantize_nvfp4_options options = diecast_quantize_nvfp4_defaults();
  options.layout = "s128x8";
  EXPECT_EQ(refused(&options),
            "value_not_allowed: quantize_nvfp4: layout = \"s128x8\"; did you mean `s128x4`?");
  options = diecast_quantize_nvfp4_defaults();
  options.e4m3_bound = -1;
  EXPECT_EQ(refused(&options), "value_not_allowed: quantize_nvfp4: e4m3_bound = -1");
  options.size = 3;
  EXPECT_EQ(refused(&options).substr(0, 50), "invalid_argument: options.size is 3, of 88 bytes");
  struct {
    diecast_quantize_nvfp4_options known;
    std::int64_t later;
  } longer{diecast_quantize_nvfp4_defaults(), 0};
  longer.known.size = sizeof longer;
  EXPECT_EQ(quantize(&longer.known), diecast_ok) << last_error();
  longer.later = 1;
  EXPECT_EQ(refused(&longer.known).substr(0, 40), "not_supported: options has fields that d");
  options.size = sizeof(std::size_t);  // of a program that knew none of them
  EXPECT_EQ(quantize(&options), diecast_ok) << last_error();
}

TEST_F(COps, RefuseTensorsThatAreWrong) {
  const auto reason = [&](const std::string& error) { return error.substr(0, error.find(':')); };
  tensors_.x = nullptr;
  EXPECT_EQ(refused(), "missing_buffer: quantize_nvfp4: x is not given");
  tensors_.x = x.get();
  x->type_bits = 64;
  EXPECT_EQ(reason(refused()), "dtype_mismatch");
  x->type_bits = 24;
  EXPECT_EQ(refused(), "dtype_mismatch: quantize_nvfp4: x is float24");
  x->type_bits = 32;
  x->device_type = 2;
  EXPECT_EQ(refused(),
            "invalid_argument: quantize_nvfp4: x is on CUDA device 0, the work is done on the CPU");
  x->device_type = 1;
  x->ndim = -1;
  EXPECT_EQ(reason(refused()), "invalid_argument");
  x->ndim = 9;
  std::int64_t nine[9] = {3, 64, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t* const shape = x->shape;
  x->shape = nine;
  EXPECT_EQ(reason(refused()), "shape_mismatch");
  x->ndim = 2;
  nine[0] = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reason(refused()), "shape_mismatch");
  nine[0] = -1;
  EXPECT_EQ(reason(refused()), "shape_mismatch");
  x->shape = shape;
  x->data = nullptr;
  EXPECT_EQ(reason(refused()), "missing_buffer");
  x->data = x_.data();
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{1, 3}, {64, 2}, {0, 1}, {-64, 1}, {32, 1}, {64, 0}}) {
    std::vector<std::int64_t> strides = wrong;
    x->strides = strides.data();
    EXPECT_EQ(reason(refused()), "shape_mismatch") << wrong[0] << ", " << wrong[1];
  }
  x->strides = nullptr;
  EXPECT_EQ(quantize(), diecast_ok) << last_error();
}

TEST_F(COps, RefuseToWriteWhereTheyRead) {
  tensors_.out_scale = data.get();
  EXPECT_EQ(refused(),
            "invalid_argument: quantize_nvfp4: out_data is written and out_scale lies in the same "
            "memory");
  tensors_.out_scale = scale.get();
  data->data = x_.data() + 40;
  EXPECT_NE(quantize(), diecast_ok);
}

// Slices of one buffer: rows of one lie between rows of the other.
TEST_F(COps, TakeRowsThatAreApart) {
  std::vector<float> wide(3 * 128);
  for (int row = 0; row < 3; ++row)
    for (int col = 0; col < 64; ++col) wide[row * 128 + 64 + col] = x_[row * 64 + col];
  std::int64_t strides[] = {128, 1};
  ASSERT_EQ(quantize(), diecast_ok) << last_error();
  const auto expected = data_;
  x->data = wide.data();
  x->byte_offset = 64 * sizeof(float);
  x->strides = strides;
  data_.assign(data_.size(), 0xAA);
  ASSERT_EQ(quantize(), diecast_ok) << last_error();
  EXPECT_EQ(data_, expected);
}

TEST_F(COps, OfNoRowsDoNothing) {
  std::int64_t none[] = {0, 64};
  x->shape = none;
  x->data = nullptr;
  EXPECT_EQ(quantize(), diecast_ok) << last_error();
  EXPECT_EQ(amax_[0], 0.0f);
}

// A matrix quantized along both directions of 16x16 blocks, and the columns made from the rows.
TEST_F(COps, TransposeWhatTheyQuantized) {
  std::vector<std::uint8_t> data_t_(64 * 8), scale_t_(64), again_(64 * 8), scales_again_(64);
  std::vector<float> amax_t_ = {0}, amax_again_ = {0};
  CTensor data_t(data_t_, {64, 8}), scale_t(scale_t_, {64, 1}), amax_t(amax_t_, {1});
  CTensor again(again_, {64, 8}), scales_again(scales_again_, {64, 1}),
      amax_again(amax_again_, {1});
  diecast_quantize_nvfp4_options options = diecast_quantize_nvfp4_defaults();
  options.square = 1;
  tensors_.out_data_t = data_t.get();
  tensors_.out_scale_t = scale_t.get();
  tensors_.out_amax_t = amax_t.get();
  ASSERT_EQ(quantize(&options), diecast_ok) << last_error();
  diecast_transpose_nvfp4_tensors turn{};
  turn.size = sizeof turn;
  turn.data = data.get();
  turn.scale = scale.get();
  turn.amax = amax.get();
  turn.out_data_t = again.get();
  turn.out_scale_t = scales_again.get();
  turn.out_amax_t = amax_again.get();
  ASSERT_EQ(diecast_transpose_nvfp4(runtime_, host_, &turn, nullptr, nullptr), diecast_ok)
      << last_error();
  EXPECT_EQ(again_, data_t_);
  EXPECT_EQ(scales_again_, scale_t_);
  EXPECT_EQ(amax_again_, amax_t_);
}

}  // namespace
}  // namespace diecast
