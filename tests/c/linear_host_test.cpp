// Linear layers through the C interface: the bits of C++, sizes asked first, prepared calls, and
// a packed weight's value that is checked.
#include <diecast/launch/host_device.h>
#include <diecast/ops/linear/linear.h>
#include <diecast/ops/reference/packed_linear.h>

#include <algorithm>
#include <random>
#include <utility>

#include "c/c_fixture.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::Handle;
using testing::last_error;
using Octets = std::vector<std::uint8_t>;

constexpr std::int64_t kRows = 48, kCols = 96, kTokens = 3;
constexpr int kFloat = 2;  // DLPack's code

class CLinear : public COnHost {
 protected:
  CLinear() {
    std::mt19937 random(5);
    for (auto& code : codes_) code = static_cast<std::uint8_t>(random());
    for (auto& scale : scales_) scale = static_cast<std::uint8_t>(1 + random() % 126);
    for (auto& value : x_) value = static_cast<std::uint16_t>(0x3000 + random() % 0x0C00);  // f16
    tensors_.size = sizeof tensors_;
    tensors_.x = x.get(), tensors_.packed = packed.get(), tensors_.factor = factor.get();
    tensors_.out = out.get();
  }
  int pack() {
    diecast_pack_linear_tensors of{};
    of.size = sizeof of;
    of.data = codes.get(), of.scale = scales.get();
    of.out_packed = packed.get(), of.out_status = status.get();
    return diecast_pack_linear(runtime_, host_, &of, nullptr, nullptr);
  }
  int linear(const diecast_packed_linear& weight) {
    const diecast_linear_options options = diecast_linear_of(&weight);
    return diecast_linear(runtime_, host_, &tensors_, &options, nullptr);
  }
  std::string refused(const diecast_packed_linear& weight) {
    EXPECT_NE(linear(weight), diecast_ok);
    const std::string error = last_error();
    return error.substr(0, error.find(':'));
  }

  diecast_packed_linear weight_{sizeof(diecast_packed_linear),
                                DIECAST_PACKED_LINEAR_VERSION,
                                "nvfp4",
                                nullptr,
                                0,
                                kRows,
                                kCols};
  Octets codes_ = Octets(kRows * kCols / 2), scales_ = Octets(kRows * kCols / 16);
  std::vector<std::uint16_t> x_ = std::vector<std::uint16_t>(kTokens * kCols);
  // Longer than it must be: its bytes begin at a multiple of 16, as memory of this size does.
  Octets packed_ = Octets(2 * 2304);
  std::vector<std::int32_t> status_ = {7, 7, 7, 7};
  std::vector<float> factor_ = {0.3f}, out_ = std::vector<float>(kTokens * kRows);
  CTensor codes{codes_, {kRows, kCols / 2}}, scales{scales_, {kRows, kCols / 16}};
  CTensor packed{packed_, {2 * 2304}}, status{status_, {4}, 0}, x{x_, {kTokens, kCols}, kFloat};
  CTensor factor{factor_, {1}}, out{out_, {kTokens, kRows}};
  diecast_linear_tensors tensors_{};
};

TEST_F(CLinear, SizesAreAskedFirst) {
  std::int64_t bytes = 0;
  ASSERT_EQ(diecast_packed_linear_size(&weight_, &bytes), diecast_ok) << last_error();
  EXPECT_EQ(bytes, 2 * 2304);
  diecast_packed_linear several = weight_;
  several.format = "mxfp4", several.weights = 3;
  ASSERT_EQ(diecast_packed_linear_size(&several, &bytes), diecast_ok) << last_error();
  EXPECT_EQ(bytes, 3 * 2 * 2176);
  diecast_linear_options options = diecast_linear_of(&weight_);
  options.activation = "silu_and_mul", options.dtype = "f16";
  tensors_.out = nullptr;
  diecast_output told[4];
  std::size_t count = 0;
  ASSERT_EQ(diecast_op_outputs(diecast_op_linear, &tensors_, &options, told, 4, &count), diecast_ok)
      << last_error();
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(told[0].dtype, "f16");
  EXPECT_EQ(told[0].shape[1], kRows / 2);
}

TEST_F(CLinear, HasTheBitsOfCpp) {
  ASSERT_EQ(pack(), diecast_ok) << last_error();
  const reference::CheckpointWeight weight{Format::nvfp4, kRows, kCols, codes_, scales_};
  EXPECT_EQ(packed_, reference::pack_linear(weight, Gated::none).bytes);
  EXPECT_EQ(status_, (std::vector<std::int32_t>{0, 0, -1, -1}));
  std::vector<float> wanted(out_.size());
  diecast::linear(*test_runtime(), Tensor{x_.data(), DType::f16, {kTokens, kCols}},
                  {.shape = {kRows, kCols},
                   .data = packed_.data(),
                   .bytes = static_cast<std::int64_t>(packed_.size())},
                  factor_.data(), Tensor{wanted.data(), DType::f32, {kTokens, kRows}},
                  {.device = open_host_device().value()})
      .value();
  ASSERT_EQ(linear(weight_), diecast_ok) << last_error();
  EXPECT_EQ(out_, wanted);
  std::vector<float> again(out_.size());
  CTensor elsewhere(again, {kTokens, kRows});
  tensors_.out = elsewhere.get();
  ASSERT_EQ(linear(weight_), diecast_ok) << last_error();  // a call like the last one
  EXPECT_EQ(again, wanted);
}

TEST_F(CLinear, PacksGateAndUpOfTwoTensors) {
  diecast_pack_linear_tensors of{};
  of.size = sizeof of;
  of.data = codes.get(), of.scale = scales.get(), of.out_packed = packed.get();
  diecast_pack_linear_options options = diecast_pack_linear_defaults();
  options.gated = "halves";
  ASSERT_EQ(diecast_pack_linear(runtime_, host_, &of, &options, nullptr), diecast_ok)
      << last_error();
  const Octets of_one = std::exchange(packed_, Octets(packed_.size()));
  packed->data = packed_.data();
  constexpr std::int64_t kHalf = kRows / 2;
  CTensor up_codes{codes_, {kHalf, kCols / 2}}, up_scales{scales_, {kHalf, kCols / 16}};
  up_codes->data = codes_.data() + codes_.size() / 2;
  up_scales->data = scales_.data() + scales_.size() / 2;
  codes->shape[0] = scales->shape[0] = kHalf;
  of.up_data = up_codes.get(), of.up_scale = up_scales.get();
  ASSERT_EQ(diecast_pack_linear(runtime_, host_, &of, &options, nullptr), diecast_ok)
      << last_error();
  EXPECT_EQ(packed_, of_one);
  of.up_scale = nullptr;
  EXPECT_EQ(diecast_pack_linear(runtime_, host_, &of, &options, nullptr), diecast_missing_buffer);
  of.up_scale = up_scales.get(), options.gated = nullptr;
  EXPECT_EQ(diecast_pack_linear(runtime_, host_, &of, &options, nullptr), diecast_invalid_argument);
}

TEST_F(CLinear, TakesFactorsOfParts) {
  ASSERT_EQ(pack(), diecast_ok) << last_error();
  ASSERT_EQ(linear(weight_), diecast_ok) << last_error();
  const std::vector<float> wanted = std::exchange(out_, std::vector<float>(out_.size()));
  out->data = out_.data();
  std::vector<float> of_rows(kRows, factor_[0]);
  CTensor factors{of_rows, {kRows}};
  tensors_.factor = factors.get();
  diecast_linear_options options = diecast_linear_of(&weight_);
  options.settled = 1;  // nothing writes the weight now
  options.fast = 1;     // the host has one kernel
  ASSERT_EQ(diecast_linear(runtime_, host_, &tensors_, &options, nullptr), diecast_ok)
      << last_error();
  EXPECT_EQ(out_, wanted);
  for (const std::int64_t count : {kRows - 1, kRows + 1}) {
    of_rows.resize(kRows + 1);
    factors->data = of_rows.data(), factors->shape[0] = count;
    EXPECT_EQ(refused(weight_), "shape_mismatch") << count;
  }
}

TEST_F(CLinear, ATypeThatIsNotOutsIsRefused) {
  ASSERT_EQ(pack(), diecast_ok) << last_error();
  diecast_linear_options options = diecast_linear_of(&weight_);
  const auto call = [&] { return diecast_linear(runtime_, host_, &tensors_, &options, nullptr); };
  options.dtype = "f32";
  ASSERT_EQ(call(), diecast_ok) << last_error();
  options.dtype = "bf16";  // the default, when it is said
  EXPECT_EQ(call(), diecast_dtype_mismatch);
  EXPECT_EQ(last_error(),
            "dtype_mismatch: linear: dtype is bf16, and out is f32\n"
            "  fix: leave dtype out: out says its own type");
  Handle prepared;
  EXPECT_EQ(
      diecast_op_prepare(runtime_, host_, diecast_op_linear, &tensors_, &options, prepared.to()),
      diecast_dtype_mismatch);
}

TEST_F(CLinear, AResidualMayBeOut) {
  ASSERT_EQ(pack(), diecast_ok) << last_error();
  std::vector<float> before_(out_.size());
  for (std::size_t i = 0; i < before_.size(); ++i) before_[i] = static_cast<float>(i % 11);
  CTensor before{before_, {kTokens, kRows}};
  tensors_.residual = before.get();
  ASSERT_EQ(linear(weight_), diecast_ok) << last_error();
  const std::vector<float> wanted = out_;
  tensors_.residual = out.get();
  for (int nth = 0; nth < 3; ++nth) {  // the last calls are recalled, or not
    out_ = before_;
    ASSERT_EQ(linear(weight_), diecast_ok) << last_error();
    EXPECT_EQ(out_, wanted);
  }
  // Places a multiple of 256 bytes apart, of which calls are recalled: in place, apart, in place.
  std::vector<float> places(3 * 256);
  for (const bool in_place : {true, false, true}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{256}, std::size_t{256}}) {
      float* const to = places.data() + at;
      std::copy(before_.begin(), before_.end(), to);
      std::copy(before_.begin(), before_.end(), places.data() + 512);
      before->data = in_place ? to : places.data() + 512, out->data = to;
      tensors_.residual = before.get();
      ASSERT_EQ(linear(weight_), diecast_ok) << last_error();
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), to)) << in_place << at;
    }
  }
  out->data = out_.data();
  before->data = out_.data() + 1,
  before->shape[0] = kTokens - 1;  // other rows would be written first
  tensors_.residual = before.get();
  EXPECT_EQ(refused(weight_), "invalid_argument");
}

TEST_F(CLinear, AnOutputThatNoMemoryHoldsIsRefused) {
  diecast_linear_options options = diecast_linear_of(&weight_);
  options.rows = std::int64_t{1} << 62;
  tensors_.out = nullptr;
  diecast_output told[4];
  std::size_t count = 0;
  EXPECT_EQ(diecast_op_outputs(diecast_op_linear, &tensors_, &options, told, 4, &count),
            diecast_shape_mismatch);
  EXPECT_EQ(last_error(),
            "shape_mismatch: linear: out would be bf16 [3, 4611686018427387904], which no memory "
            "holds\n  fix: pass a smaller tensor, or smaller sizes");
}

TEST_F(CLinear, UnpackingGivesTheCheckpointsBytes) {
  ASSERT_EQ(pack(), diecast_ok) << last_error();
  const Octets codes_before = codes_, scales_before = scales_;
  codes_.assign(codes_.size(), 0x5A), scales_.assign(scales_.size(), 0x5A);
  diecast_unpack_linear_tensors of{};
  of.size = sizeof of;
  of.packed = packed.get(), of.out_data = codes.get(), of.out_scale = scales.get();
  const diecast_unpack_linear_options options = diecast_unpack_linear_of(&weight_);
  ASSERT_EQ(diecast_unpack_linear(runtime_, host_, &of, &options, nullptr), diecast_ok)
      << last_error();
  EXPECT_EQ(codes_, codes_before);
  EXPECT_EQ(scales_, scales_before);
}

TEST_F(CLinear, APreparedCallTakesAnyRows) {
  ASSERT_EQ(pack(), diecast_ok) << last_error();
  ASSERT_EQ(linear(weight_), diecast_ok) << last_error();
  const std::vector<float> wanted = out_;
  const diecast_linear_options options = diecast_linear_of(&weight_);
  Handle prepared;
  ASSERT_EQ(
      diecast_op_prepare(runtime_, host_, diecast_op_linear, &tensors_, &options, prepared.to()),
      diecast_ok)
      << last_error();
  for (const std::int64_t tokens : {kTokens, std::int64_t{1}, kTokens}) {
    out_.assign(out_.size(), -1.0f);
    x->shape[0] = out->shape[0] = tokens;
    ASSERT_EQ(diecast_op_run(prepared, &tensors_, &options, nullptr), diecast_ok) << last_error();
    for (std::size_t i = 0; i < out_.size(); ++i)
      ASSERT_EQ(out_[i], i < static_cast<std::size_t>(tokens * kRows) ? wanted[i] : -1.0f) << i;
  }
}

TEST_F(CLinear, RefusesAWeightThatIsAnother) {
  ASSERT_EQ(pack(), diecast_ok) << last_error();
  ASSERT_EQ(linear(weight_), diecast_ok) << last_error();
  const auto changed = [&](auto change) {
    diecast_packed_linear other = weight_;
    change(other);
    return refused(other);
  };
  EXPECT_EQ(changed([](auto& w) { w.version = 2; }), "not_supported");
  EXPECT_EQ(changed([](auto& w) { w.version = -1; }), "value_not_allowed");
  EXPECT_EQ(changed([](auto& w) { w.format = "mxfp8"; }), "value_not_allowed");
  EXPECT_EQ(changed([](auto& w) { w.gated = "halves"; }), "invalid_argument");
  EXPECT_EQ(changed([](auto& w) { w.rows = 0; }), "value_missing");
  EXPECT_EQ(changed([](auto& w) { w.rows = 129; }), "shape_mismatch");  // more bytes than there are
  EXPECT_EQ(changed([](auto& w) { w.cols = 80; }), "shape_mismatch");
  EXPECT_EQ(changed([](auto& w) { w.weights = 1; }), "not_supported");  // those of experts
  std::int64_t bytes = 0;
  diecast_packed_linear wrong = weight_;
  wrong.version = 2;
  EXPECT_EQ(diecast_packed_linear_size(&wrong, &bytes), diecast_not_supported);
  wrong = weight_;
  wrong.cols = 40;
  EXPECT_EQ(diecast_packed_linear_size(&wrong, &bytes), diecast_shape_mismatch);
  EXPECT_EQ(diecast_packed_linear_size(nullptr, &bytes), diecast_invalid_argument);
  packed->shape[0] -= 1;
  EXPECT_EQ(refused(weight_), "shape_mismatch");
  packed->shape[0] += 1;
  factor->data = nullptr;
  EXPECT_EQ(refused(weight_), "missing_buffer");
}

}  // namespace
}  // namespace diecast
