// New weights for a quantized folder, through the C interface.
#include <diecast/c.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "c/c_fixture.h"

namespace diecast {
namespace {

using testing::CTensor;
using testing::Handle;
using testing::last_error;

const char* const kConfig = R"({"quantization_config": {"quant_method": "modelopt",
  "quant_algo": "NVFP4", "ignore": ["lm_head"]}})";

class CQuantizeFor : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(testing::open_test_runtime(runtime_.to()), diecast_ok) << last_error();
    if (diecast_device_open_host(1, host_.to()) != diecast_ok) GTEST_SKIP() << last_error();
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = std::sin(0.1f * static_cast<float>(i));
  }
  std::int32_t prepare(const char* config, const std::vector<diecast_new_weight>& weights) {
    return diecast_quantize_for_prepare(runtime_, host_, config, weights.data(), weights.size(),
                                        nullptr, op_.to());
  }

  Handle runtime_, host_, op_;
  std::vector<float> x_ = std::vector<float>(4 * 32), amax_ = {2.0f};
  CTensor x_t_{x_, {4, 32}}, amax_t_{amax_, {1}};
  const char* const down_ = "model.layers.0.mlp.down_proj.weight";
};

TEST_F(CQuantizeFor, WritesWhatItSaysAndTakesAnAmax) {
  ASSERT_EQ(prepare(kConfig, {{down_, x_t_.get(), amax_t_.get(), 0.5f},
                              {"lm_head.weight", x_t_.get(), nullptr, 0}}),
            diecast_ok)
      << last_error();
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  ASSERT_EQ(diecast_quantize_for_outputs(op_, nullptr, 0, &count, &bytes), diecast_ok);
  ASSERT_EQ(count, 4u);
  ASSERT_EQ(bytes, 4u);
  diecast_stored_tensor told[4];
  EXPECT_EQ(diecast_quantize_for_outputs(op_, told, 3, &count, &bytes), diecast_shape_mismatch);
  ASSERT_EQ(diecast_quantize_for_outputs(op_, told, 4, &count, &bytes), diecast_ok);
  std::size_t sources[4] = {9, 9, 9, 9};
  EXPECT_EQ(diecast_quantize_for_sources(op_, sources, 3), diecast_shape_mismatch);
  ASSERT_EQ(diecast_quantize_for_sources(op_, sources, 4), diecast_ok);
  for (const std::size_t source : sources) EXPECT_EQ(source, 0u);  // none is of lm_head
  EXPECT_STREQ(told[0].name, down_);
  EXPECT_STREQ(told[0].dtype, "U8");
  EXPECT_EQ(told[0].shape[1], 16);
  EXPECT_STREQ(told[1].dtype, "F8_E4M3");
  EXPECT_STREQ(told[3].name, "model.layers.0.mlp.down_proj.input_scale");
  EXPECT_EQ(told[2].ndim, 0);
  std::vector<std::uint8_t> codes(64), scales(8);
  std::vector<float> scale_2 = {0}, input = {0}, scratch = {0};
  CTensor codes_t(codes, {4, 16}), scales_t(scales, {4, 2}), scale_2_t(scale_2, {1}),
      input_t(input, {1}), scratch_t(scratch, {1});
  const diecast_tensor* outputs[] = {codes_t.get(), scales_t.get(), scale_2_t.get(), input_t.get()};
  const diecast_new_weight weights[] = {{down_, x_t_.get(), amax_t_.get(), 0},
                                        {"lm_head.weight", x_t_.get(), nullptr, 0}};
  ASSERT_EQ(diecast_quantize_for_run(op_, weights, 2, outputs, 4, scratch_t.get(), nullptr),
            diecast_ok)
      << last_error();
  EXPECT_EQ(scale_2[0], 1.0f / (2688.0f / 2.0f));
  EXPECT_EQ(input[0], 0.5f);
  EXPECT_NE(codes, std::vector<std::uint8_t>(64));
  outputs[0] = scales_t.get();  // too small
  EXPECT_EQ(diecast_quantize_for_run(op_, weights, 2, outputs, 4, scratch_t.get(), nullptr),
            diecast_shape_mismatch);
  EXPECT_EQ(diecast_quantize_for_run(op_, weights, 1, outputs + 1, 0, scratch_t.get(), nullptr),
            diecast_invalid_argument);
}

TEST_F(CQuantizeFor, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(prepare("{}", {{down_, x_t_.get(), nullptr, 0}}), diecast_not_supported);
  EXPECT_EQ(prepare(kConfig, {{nullptr, x_t_.get(), nullptr, 0}}), diecast_invalid_argument);
  EXPECT_EQ(prepare(kConfig, {{down_, nullptr, nullptr, 0}}), diecast_invalid_argument);
  EXPECT_EQ(prepare(kConfig, {{"a.gate_proj.weight", x_t_.get(), nullptr, 0}}),
            diecast_invalid_argument);
  std::size_t count = 0;
  EXPECT_EQ(diecast_quantize_for_outputs(host_, nullptr, 0, &count, nullptr),
            diecast_invalid_argument);
}

}  // namespace
}  // namespace diecast
