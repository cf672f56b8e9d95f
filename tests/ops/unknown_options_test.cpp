// An option that is no value of its enum, in a convenience call after calls whose ops are kept: an
// error, and never what another op that is kept makes. On a fake GPU.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <functional>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class UnknownOptions : public ::testing::Test {
 protected:
  // `call` with each of the first `known` values, which keeps an op or is an error, then with every
  // number above: all errors.
  template <class Enum>
  void expect_refused(int known, const std::function<Result<void>(Enum)>& call) {
    ASSERT_TRUE(call(Enum{})) << call(Enum{}).error().message();
    for (int number = 1; number < known; ++number) (void)call(static_cast<Enum>(number));
    const std::size_t launches = machine_.cuda->launches.size();
    for (int number = known; number < 256; ++number)
      EXPECT_FALSE(call(static_cast<Enum>(number))) << number;
    EXPECT_EQ(machine_.cuda->launches.size(), launches);
  }
  // NVFP4 of m_.x's shape: with dense scales, and with rows of scales that have a stride.
  QuantizedTensor plain() const { return m_.out; }
  QuantizedTensor apart() const {
    QuantizedTensor out = m_.out;
    out.rowwise.scale_stride = out.cols() / 16;
    return out;
  }

  testing::FakeMachine machine_;
  const std::shared_ptr<Runtime> runtime_ = machine_.runtime();
  const std::shared_ptr<Device> device_ = machine_.cuda.device();
  const testing::Matrices m_{*device_, 32, 2048};
  float* const result_ = m_.out.rowwise.amax;
};

TEST_F(UnknownOptions, OfQuantizeNvfp4) {
  for (const QuantizedTensor& out : {plain(), apart()})
    expect_refused<FourOverSix>(3, [&](FourOverSix rule) {
      QuantizeNvfp4Options options{true, device_};
      options.four_over_six = rule;
      return quantize_nvfp4(*runtime_, m_.x, out, options);
    });
  for (const Profile profile : {Profile::te, Profile::pr546}) {
    QuantizedTensor out = m_.out;
    out.type.profile = profile;
    expect_refused<GlobalScale>(4, [&](GlobalScale global) {
      QuantizeNvfp4Options options{true, device_};
      options.global = global;
      return quantize_nvfp4(*runtime_, m_.x, out, options);
    });
  }
}

TEST_F(UnknownOptions, OfQuantizeNvfp4InBothDirections) {
  const testing::Matrices m(*device_, 32, 2048, false, ScaleLayout::linear, true);
  expect_refused<TransformedSides>(4, [&](TransformedSides sides) {
    QuantizeNvfp4Options options{false, device_};
    options.rht = sides;
    return quantize_nvfp4(*runtime_, m.x, m.out, options);
  });
}

TEST_F(UnknownOptions, OfQuantizeMx) {
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2}) {
    QuantizedTensor out{.type = {.format = format}, .shape = m_.x.shape};
    out.rowwise = out.rowwise_sizes().value();
    out.rowwise.data = device_->allocate(32 * 2048).value();
    out.rowwise.scale = device_->allocate(32 * 64).value();
    expect_refused<MxMode>(4, [&](MxMode mode) {
      return quantize_mx(*runtime_, m_.x, out, {mode, device_});
    });
  }
}

TEST_F(UnknownOptions, OfAmax) {
  for (const std::int64_t stride : {0, 2048 + 16}) {  // dense rows, and rows apart
    Tensor x = m_.x;
    x.shape = Shape{8, 2048}, x.row_stride = stride;
    expect_refused<AmaxPer>(5, [&](AmaxPer per) {
      return amax(*runtime_, x, result_, {.per = per, .device = device_});
    });
    expect_refused<AmaxTransform>(3, [&](AmaxTransform transform) {
      return amax(*runtime_, x, result_, {.device = device_, .transform = transform});
    });
    const Tensor both[] = {x, x};
    expect_refused<AmaxPer>(5, [&](AmaxPer per) {
      return amax_shared(*runtime_, both, result_, {.per = per, .device = device_});
    });
  }
}

TEST_F(UnknownOptions, OfTheTransformOfAnAmaxAndItsNans) {
  for (const AmaxTransform transform : {AmaxTransform::none, AmaxTransform::rowwise})
    expect_refused<AmaxNans>(2, [&](AmaxNans nans) {
      AmaxOptions options{.device = device_, .transform = transform};
      options.nans = nans;
      return amax(*runtime_, m_.x, result_, options);
    });
}

TEST_F(UnknownOptions, OfABlockOfAnAmax) {
  const auto of_block = [&](int block) {
    return amax(*runtime_, m_.x, static_cast<float*>(m_.x.data),
                {.per = AmaxPer::block, .device = device_, .block = block});
  };
  ASSERT_TRUE(of_block(16));
  for (const int block : {-16, 0, 17, 256 + 16, 65536 + 16}) EXPECT_FALSE(of_block(block)) << block;
}

TEST_F(UnknownOptions, OfDequantizeNvfp4) {
  for (const bool row_scaled : {false, true}) {
    const testing::Matrices m(*device_, 32, 2048, row_scaled);
    expect_refused<GlobalForm>(2, [&](GlobalForm form) {
      return dequantize_nvfp4(*runtime_, m.out, m.x, {.form = form, .device = device_});
    });
  }
}

// A request that could be prepared nonetheless is told what is wrong with it.
TEST_F(UnknownOptions, AreNamed) {
  const auto done = dequantize_nvfp4(*runtime_, m_.out, m_.x,
                                     {.form = static_cast<GlobalForm>(2), .device = device_});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(),
            "diecast: value_not_allowed: dequantize_nvfp4: global = 2 is no value of its enum\n"
            "  fix: set every option to a value that its enum names");
}

TEST_F(UnknownOptions, OfFakeQuantization) {
  const Tensor amaxes{m_.out.rowwise.data, DType::f32, Shape{1, 4096}, 0, nullptr};
  for (const DType in : {DType::bf16, DType::f16}) {
    Tensor x = m_.x, out = m_.x;
    x.dtype = in;
    expect_refused<Fp8Conversion>(2, [&](Fp8Conversion fp8) {
      Fp4ScaleOptions options;
      options.device = device_, options.fp8 = fp8, options.global_amax = result_;
      return static_blockwise_fp4_fake_quant(*runtime_, x, amaxes, out, options);
    });
  }
}

}  // namespace
}  // namespace diecast
