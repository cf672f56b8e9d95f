// Numbers that are no value of an enum, as of a field that was never set or was cast from another
// program's enum: an error everywhere, and nothing is read past a table.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class UnknownValues : public ::testing::TestWithParam<int> {
 protected:
  template <class Enum>
  static Enum unknown() {
    return static_cast<Enum>(GetParam());
  }
  static std::string message(const Result<void>& done) {
    return done ? "" : done.error().message();
  }

  testing::FakeMachine machine_;
  const std::shared_ptr<Runtime> runtime_ = machine_.runtime();
  const std::shared_ptr<Device> device_ = machine_.cuda.device();
  const testing::Matrices m_{*device_, 32, 2048};
};

TEST_P(UnknownValues, OfAnElementType) {
  Tensor x = m_.x;
  x.dtype = unknown<DType>();
  EXPECT_EQ(dtype_bits(x.dtype), 0);
  EXPECT_EQ(dtype_name(x.dtype), "unknown");
  EXPECT_EQ(rows_class(x), RowsClass::any);
  const std::string number = cat(GetParam());
  const std::string has_none = cat(
      ": x has no known type (", number,
      ")\n  fix: set dtype to one of bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, i64, f64, i8, "
      "u16, u64");
  const auto op = PreparedQuantizeNvfp4::prepare(*runtime_, device_, {}).value();
  EXPECT_EQ(message(op.run(x, m_.out, {})), "diecast: dtype_mismatch: quantize_nvfp4" + has_none);
  EXPECT_EQ(message(quantize_nvfp4(*runtime_, x, m_.out, {.device = device_})),
            cat("diecast: dtype_mismatch: quantize_nvfp4: x is DType(", number,
                ")\n  fix: give x as one of bf16, f16, f32, e4m3"));
  EXPECT_EQ(amax(*runtime_, x, m_.out.rowwise.amax, {.device = device_}).error().code,
            ErrorCode::dtype_mismatch);
  EXPECT_EQ(dequantize_nvfp4(*runtime_, m_.out, x, {.device = device_}).error().code,
            ErrorCode::dtype_mismatch);
}

TEST_P(UnknownValues, OfAQuantizedTensor) {
  const auto op = PreparedQuantizeNvfp4::prepare(*runtime_, device_, {}).value();
  const auto expect_refused = [&](const QuantizedTensor& out, std::string_view what) {
    const std::string refused = cat("diecast: value_not_allowed: ", what,
                                    ": one of them is none that there is\n"
                                    "  fix: give values of Format, ScaleLayout and Profile");
    const auto sizes = out.rowwise_sizes();
    ASSERT_FALSE(sizes);
    EXPECT_EQ(sizes.error().message(), refused);
    EXPECT_FALSE(out.check("op", "out"));
    EXPECT_FALSE(op.run(m_.x, out, {}));
    EXPECT_FALSE(quantize_nvfp4(*runtime_, m_.x, out, {.device = device_}));
    EXPECT_FALSE(quantize_mx(*runtime_, m_.x, out, {.device = device_}));
    EXPECT_FALSE(dequantize_nvfp4(*runtime_, out, m_.x, {.device = device_}));
  };
  QuantizedTensor out = m_.out;
  out.type.format = unknown<Format>();
  expect_refused(out, cat("format ", GetParam(), ", layout 0, profile 0"));
  out = m_.out, out.type.layout = unknown<ScaleLayout>();
  expect_refused(out, cat("format 0, layout ", GetParam(), ", profile 0"));
  out = m_.out, out.type.profile = unknown<Profile>();
  expect_refused(out, cat("format 0, layout 0, profile ", GetParam()));
}

TEST_P(UnknownValues, OfARequestOrOptions) {
  const auto expect_refused = [&](const PreparedQuantizeNvfp4::Request& request,
                                  std::string_view field) {
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime_, device_, request);
    ASSERT_FALSE(op);
    EXPECT_EQ(op.error().message(),
              cat("diecast: value_not_allowed: quantize_nvfp4: ", field, " = ", GetParam(),
                  " is no value of its enum\n"
                  "  fix: set every option to a value that its enum names"));
  };
  PreparedQuantizeNvfp4::Request request;
  request.out.profile = unknown<Profile>();
  expect_refused(request, "profile");
  request = {}, request.out.layout = unknown<ScaleLayout>();
  expect_refused(request, "layout");
  request = {}, request.four_over_six = unknown<FourOverSix>();
  expect_refused(request, "four_over_six");
  request = {}, request.global = unknown<GlobalScale>();
  expect_refused(request, "global");
  float* const result = m_.out.rowwise.amax;
  EXPECT_FALSE(amax(*runtime_, m_.x, result, {.per = unknown<AmaxPer>(), .device = device_}));
  EXPECT_FALSE(
      amax(*runtime_, m_.x, result, {.device = device_, .transform = unknown<AmaxTransform>()}));
  QuantizedTensor mx{.type = {.format = Format::mxfp4}, .shape = m_.x.shape};
  mx.rowwise = m_.out.rowwise, mx.rowwise.amax = nullptr, mx.rowwise.amax_count = 0;
  EXPECT_FALSE(quantize_mx(*runtime_, m_.x, mx, {unknown<MxMode>(), device_}));
  EXPECT_EQ(word(unknown<TensorRole>()), "unknown");
}

INSTANTIATE_TEST_SUITE_P(Numbers, UnknownValues, ::testing::Values(14, 15, 99, 200, 255));

}  // namespace
}  // namespace diecast
