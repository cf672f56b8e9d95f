// The short way of templates/device/nvfp4/ordinary_codes.h, which templates take on GPUs, on this
// processor: the codes and scales that profile te's recipe gives, and the long way taken where it
// must be. Elements of every pattern and of normal numbers, amaxes of every magnitude.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "ops/device_buffer.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

constexpr std::int64_t kPairsOfBlocks = 1024;

class OrdinaryBlocks : public ::testing::TestWithParam<const char*> {
 protected:
  OrdinaryBlocks() : device_(open_host_device({}).value()) {
    runtime_ = test_runtime_with("ordinary_blocks.cu");
  }

  // Of how many pairs not both blocks were ordinary.
  std::int64_t seldom(DType in, const std::vector<std::uint16_t>& x, float amax) {
    const auto one = runtime_->specialize_for(
        "ordinary_blocks", Bindings().set("IN", in).set("TWO", GetParam()), *device_);
    const auto kernel = runtime_->preload(one.value(), device_).value();
    DeviceBuffer elements(*device_, x.data(), x.size() * 2), of_all(*device_, &amax, sizeof amax);
    DeviceBuffer codes(*device_, kPairsOfBlocks * 32), scales(*device_, kPairsOfBlocks * 4);
    DeviceBuffer called(*device_, kPairsOfBlocks);
    kernel
        ->launch({{"x", elements.argument(in)},
                  {"amax", of_all.argument(DType::f32)},
                  {"codes", codes.argument(DType::u32)},
                  {"scales", scales.argument(DType::e4m3)},
                  {"seldom", called.argument(DType::u8)},
                  {"count", KernelArgument::size(kPairsOfBlocks)}},
                 {})
        .value();
    const auto got = codes.bytes(), got_scales = scales.bytes(), flags = called.bytes();
    for (std::size_t i = 0; i < flags.size(); ++i) {
      EXPECT_EQ(std::memcmp(&got[32 * i], &got[32 * i + 16], 16), 0) << i << ", amax " << amax;
      EXPECT_EQ(std::memcmp(&got_scales[4 * i], &got_scales[4 * i + 2], 2), 0) << i;
    }
    return std::count(flags.begin(), flags.end(), 1);
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Runtime> runtime_;
};

// A normal number of bf16 or f16, cut off.
std::uint16_t normal_pattern(DType in, std::mt19937& random) {
  const bool f16 = in == DType::f16;
  const float bias = f16 ? 0x1p-112f : 1.0f;  // of exponents
  const float x = std::normal_distribution<float>()(random) * bias;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | (bits >> (f16 ? 13 : 16) & 0x7FFFu));
}

TEST_P(OrdinaryBlocks, AreAsTheRecipeQuantizesThem) {
  std::mt19937 random(20261122);
  for (const DType in : {DType::bf16, DType::f16}) {
    std::vector<std::uint16_t> normal(kPairsOfBlocks * 32), any(normal.size());
    for (auto& pattern : normal) pattern = normal_pattern(in, random);
    for (auto& pattern : any) pattern = static_cast<std::uint16_t>(random());
    EXPECT_EQ(seldom(in, normal, 6.0f), 0);
    EXPECT_GT(seldom(in, normal, 0.1f), 0);  // some are larger than the largest
    EXPECT_GT(seldom(in, any, 5.0f), 0);
    EXPECT_EQ(seldom(in, normal, 0x1p-126f), kPairsOfBlocks);
    EXPECT_EQ(seldom(in, normal, 0x1p120f), kPairsOfBlocks);
    EXPECT_EQ(seldom(in, normal, std::numeric_limits<float>::infinity()), 0);  // scaled by 1
  }
}

INSTANTIATE_TEST_SUITE_P(Two, OrdinaryBlocks, ::testing::Values("blocks", "columns", "square"));

}  // namespace
}  // namespace diecast
