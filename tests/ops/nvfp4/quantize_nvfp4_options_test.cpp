// What quantize_nvfp4 refuses, and the reason it gives; and what each option binds. Nothing
// compiles but a stand-in.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;

class Nvfp4Options : public ::testing::Test {
 protected:
  Nvfp4Options() : runtime_(machine_.runtime()), device_(machine_.cuda.device()) {}

  // A [rows, cols] bf16 matrix and its output, described by `change`.
  template <class Change>
  std::pair<Tensor, QuantizedTensor> matrices(std::int64_t rows, std::int64_t cols, Change change) {
    const auto memory = [&](std::int64_t bytes) {
      return device_->allocate(static_cast<std::size_t>(bytes)).value();
    };
    const Tensor x = {memory(rows * cols * 2), DType::bf16, Shape{rows, cols}, 0, nullptr};
    QuantizedTensor out;
    out.shape = x.shape;
    change(out);
    const std::int64_t stride = out.rowwise.scale_stride;
    out.rowwise = out.rowwise_sizes().value();
    out.rowwise.scale_stride = stride;
    out.rowwise.scale_bytes += stride * rows;
    out.rowwise.data = memory(out.rowwise.data_bytes);
    out.rowwise.scale = memory(out.rowwise.scale_bytes);
    out.rowwise.amax = static_cast<float*>(memory(out.rowwise.amax_count * 4));
    return {x, out};
  }

  template <class Change>
  std::string outcome(QuantizeNvfp4Options options, Change change) {
    const auto [x, out] = matrices(8, 64, change);
    options.device = device_;
    const auto done = quantize_nvfp4(*runtime_, x, out, options);
    return done ? "ok" : done.error().message();
  }
  std::string outcome(const QuantizeNvfp4Options& options, Profile profile = Profile::te) {
    return outcome(options, [&](QuantizedTensor& out) { out.type.profile = profile; });
  }

  FakeMachine machine_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Device> device_;
};

QuantizeNvfp4Options given(GlobalScale global) {
  QuantizeNvfp4Options options;
  options.amax_given = true;
  options.global = global;
  return options;
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

TEST_F(Nvfp4Options, WhatAProfileHasNotIsRefusedNamingTheOnesThatHaveIt) {
  QuantizeNvfp4Options adaptive = given(GlobalScale::amax);
  adaptive.four_over_six = FourOverSix::mae;
  for (const Profile profile :
       {Profile::pr546, Profile::modelopt, Profile::torchao, Profile::te_ref}) {
    const std::string message = outcome(adaptive, profile);
    EXPECT_TRUE(says(message, "constraint_violated")) << message;
    EXPECT_TRUE(says(message, "(four over six is defined by profile te)")) << message;
  }
  for (const Profile profile : {Profile::modelopt, Profile::torchao}) {
    EXPECT_TRUE(
        says(outcome(given(GlobalScale::encode), profile),
             "(an encode scale is part of profiles te, pr546 and te_ref; modelopt and torchao take "
             "decode)"));
  }
  for (const Profile profile : {Profile::pr546, Profile::te_ref}) {
    EXPECT_EQ(outcome(given(GlobalScale::encode), profile), "ok");
  }
  for (const Profile profile : {Profile::pr546, Profile::modelopt, Profile::te_ref}) {
    EXPECT_TRUE(says(outcome(given(GlobalScale::none), profile),
                     "(block scales alone are defined by profiles te and torchao)"));
  }
  QuantizeNvfp4Options blocks = given(GlobalScale::amax);
  blocks.block_amax.rowwise = static_cast<const float*>(device_->allocate(8 * 4 * 4).value());
  for (const Profile profile : {Profile::te, Profile::pr546, Profile::torchao, Profile::te_ref}) {
    EXPECT_TRUE(
        says(outcome(blocks, profile), "(given block amaxes are defined by profile modelopt)"));
  }
  EXPECT_EQ(outcome(blocks, Profile::modelopt), "ok");
}

TEST_F(Nvfp4Options, ProfilesOfEnginesDefineWhatTheirCardsSay) {
  const std::string fast = outcome(given(GlobalScale::encode), Profile::te_fast);
  EXPECT_TRUE(says(fast, "(profile te_fast is defined for bf16 under an amax, not transformed)"));
  EXPECT_EQ(outcome(given(GlobalScale::amax), Profile::te_fast), "ok");
  const auto of_rows = [](QuantizedTensor& out) {
    out.type.profile = Profile::te_fast;
    out.type.row_scaled = true;
  };
  EXPECT_EQ(outcome(given(GlobalScale::amax), of_rows), "ok");
  for (const Profile profile : {Profile::flashinfer_exact, Profile::flashinfer_fast,
                                Profile::flashinfer_dsl_exact, Profile::flashinfer_dsl_fast}) {
    const std::string message = outcome(given(GlobalScale::amax), profile);
    EXPECT_TRUE(says(message,
                     "(FlashInfer's profiles are defined under one encode scale, or with ROW_SCALE "
                     "under the row's amax)"))
        << message;
    EXPECT_EQ(outcome(given(GlobalScale::encode), profile), "ok");
    QuantizeNvfp4Options transformed = given(GlobalScale::encode);
    transformed.rht = TransformedSides::rowwise;
    EXPECT_TRUE(says(outcome(transformed, profile),
                     "(FlashInfer's profiles are defined for bf16 and f16, not transformed, "
                     "rounded to nearest)"));
  }
}

TEST_F(Nvfp4Options, FlashinfersScalesARowAreOfItsCudaBackEnd) {
  for (const Profile profile : {Profile::flashinfer_exact, Profile::flashinfer_fast,
                                Profile::flashinfer_dsl_exact, Profile::flashinfer_dsl_fast}) {
    const auto rows = [&](QuantizedTensor& out) {
      out.type.profile = profile;
      out.type.row_scaled = true;
    };
    EXPECT_TRUE(says(outcome(given(GlobalScale::encode), rows), "under the row's amax)"));
    for (const QuantizeNvfp4Options& options : {given(GlobalScale::amax), QuantizeNvfp4Options{}}) {
      const std::string message = outcome(options, rows);
      if (profile < Profile::flashinfer_dsl_exact) {
        EXPECT_EQ(message, "ok");
      } else {
        EXPECT_TRUE(says(message,
                         "(a scale a row is defined by flashinfer_exact and flashinfer_fast, and "
                         "not by the CuTe-DSL ones)"))
            << message;
      }
    }
  }
}

TEST_F(Nvfp4Options, ABoundOf256BelongsToFourOverSixAndToModelopt) {
  const auto bound = [](QuantizedTensor& out) { out.type.e4m3_bound = 256; };
  EXPECT_TRUE(says(outcome({}, bound),
                   "(bound 256 is defined by profile te with four over six, and by modelopt)"));
  QuantizeNvfp4Options adaptive;
  adaptive.four_over_six = FourOverSix::mse;
  EXPECT_EQ(outcome(adaptive, bound), "ok");
  EXPECT_EQ(outcome(given(GlobalScale::amax),
                    [](QuantizedTensor& out) {
                      out.type.e4m3_bound = 256;
                      out.type.profile = Profile::modelopt;
                    }),
            "ok");
  QuantizedTensor torchao;
  torchao.shape = Shape{8, 64};
  torchao.type.e4m3_bound = 256;
  torchao.type.profile = Profile::torchao;
  EXPECT_EQ(torchao.rowwise_sizes().error().message(),
            "diecast: not_supported: e4m3_bound = 256 under profile torchao\n"
            "  fix: e4m3_bound = 448, or profile te (four over six) or modelopt");
}

TEST_F(Nvfp4Options, TheErrorOfFourOverSixWantsTheAmaxItself) {
  QuantizeNvfp4Options options = given(GlobalScale::encode);
  options.four_over_six = FourOverSix::mae;
  EXPECT_TRUE(says(outcome(options),
                   "(the error of four over six is made with the amax itself: GLOBAL=amax)"));
}

TEST_F(Nvfp4Options, RowsHaveGlobalScalesOrAreNotRowScaled) {
  const auto row_scaled = [](QuantizedTensor& out) { out.type.row_scaled = true; };
  EXPECT_TRUE(says(outcome(given(GlobalScale::none), row_scaled),
                   "(without global scales there is none a row)"));
  for (const auto global : {GlobalScale::amax, GlobalScale::encode, GlobalScale::decode}) {
    EXPECT_EQ(outcome(given(global), row_scaled), "ok");
  }
  EXPECT_EQ(machine_.cuda->launches.back().symbol, "quantize_nvfp4");
  EXPECT_EQ(outcome({}, row_scaled), "ok");
  EXPECT_EQ(machine_.cuda->launches.back().symbol, "quantize_nvfp4_row_scaled");
}

TEST_F(Nvfp4Options, StridesAreOfLinearScalesAndAtLeastARow) {
  EXPECT_EQ(outcome({}, [](QuantizedTensor& out) { out.rowwise.scale_stride = 9; }), "ok");
  EXPECT_EQ(outcome({}, [](QuantizedTensor& out) { out.rowwise.scale_stride = 3; }),
            "diecast: shape_mismatch: quantize_nvfp4: out: scale_stride = 3 for 4 scales a row\n"
            "  fix: scale_stride = 4 or more, or 0 for dense rows");
  EXPECT_TRUE(says(outcome({},
                           [](QuantizedTensor& out) {
                             out.rowwise.scale_stride = 9;
                             out.type.layout = ScaleLayout::s8x4;
                           }),
                   "(tiles of scales lie one behind another: only linear rows can be apart)"));
}

TEST_F(Nvfp4Options, AStridedBufferThatEndsTooSoonIsRefused) {
  auto [x, out] = matrices(8, 64, [](QuantizedTensor& q) { q.rowwise.scale_stride = 9; });
  out.rowwise.scale_bytes = 7 * 9 + 4;
  EXPECT_TRUE(quantize_nvfp4(*runtime_, x, out, {true, device_}).ok());
  out.rowwise.scale_bytes -= 1;
  EXPECT_EQ(code_word(quantize_nvfp4(*runtime_, x, out, {true, device_}).error().code),
            "shape_mismatch");
  out.rowwise.scale_stride = std::int64_t{1} << 62;
  EXPECT_EQ(code_word(quantize_nvfp4(*runtime_, x, out, {true, device_}).error().code),
            "shape_mismatch");
}

TEST_F(Nvfp4Options, AGridOfTiledScalesCoversThePadding) {
  const auto [x, out] =
      matrices(130, 80, [](QuantizedTensor& q) { q.type.layout = ScaleLayout::s128x4; });
  EXPECT_EQ(out.rowwise.scale_bytes, 256 * 8);
  ASSERT_TRUE(quantize_nvfp4(*runtime_, x, out, {true, device_}).ok());
  EXPECT_EQ(machine_.cuda->launches.back().grid[0], 16u);  // 256 x 8 places, 128 a block
}

TEST_F(Nvfp4Options, APreparedOpTakesOnlyWhatItWasPreparedFor) {
  const auto op = PreparedQuantizeNvfp4::prepare(*runtime_, device_, {}).value();
  const auto [x, out] =
      matrices(8, 64, [](QuantizedTensor& q) { q.type.layout = ScaleLayout::s8x4; });
  EXPECT_EQ(op.run(x, out, {}).error().message(),
            "diecast: not_supported: quantize_nvfp4: prepared for layout = linear; out has layout "
            "= s8x4\n"
            "  fix: prepare another op for this output");
}

}  // namespace
}  // namespace diecast
