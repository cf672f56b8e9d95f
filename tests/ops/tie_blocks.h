// Codes of products that are cut off (templates/device/nvfp4/tie_codes.h) on a device, by a table
// of ways (tie_factors.h) and by a block's own (tie_ways.h): under every significand that an amax
// of bf16 has, those of integers and any other, the codes and scales that profile te's recipe
// gives; and a way is right for every block that is not cut off under the first of them.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ops/device_buffer.h"
#include "ops/test_runtime.h"

namespace diecast::variants {

inline constexpr std::int64_t kTieBlocks = 1024;

class TieBlocks {
 public:
  explicit TieBlocks(std::shared_ptr<Device> device) : device_(std::move(device)) {
    runtime_ = test_runtime_with("tie_blocks.cu");
    const auto one = runtime_->specialize_for("tie_blocks", Bindings(), *device_);
    kernel_ = runtime_->preload(one.value(), device_).value();
  }

  // Of how many blocks no way is right, by the table or by their own.
  std::int64_t seldom(const std::vector<std::uint16_t>& x, float amax) {
    DeviceBuffer elements(*device_, x.data(), x.size() * 2), of_all(*device_, &amax, sizeof amax);
    DeviceBuffer codes(*device_, kTieBlocks * 24), scales(*device_, kTieBlocks * 3);
    DeviceBuffer called(*device_, kTieBlocks);
    kernel_
        ->launch({{"x", elements.argument(DType::bf16)},
                  {"amax", of_all.argument(DType::f32)},
                  {"codes", codes.argument(DType::u32)},
                  {"scales", scales.argument(DType::e4m3)},
                  {"seldom", called.argument(DType::u8)},
                  {"count", KernelArgument::size(kTieBlocks)}},
                 {})
        .value();
    const auto got = codes.bytes(), got_scales = scales.bytes(), flags = called.bytes();
    for (std::size_t i = 0; i < flags.size(); ++i) {
      for (std::size_t way = 0; way < 2; ++way) {
        EXPECT_EQ(std::memcmp(&got[24 * i + 8 * way], &got[24 * i + 16], 8), 0)
            << i << ", amax " << amax << ", way " << way;
        EXPECT_EQ(got_scales[3 * i + way], got_scales[3 * i + 2])
            << i << ", amax " << amax << ", way " << way;
      }
    }
    return std::count_if(flags.begin(), flags.end(), [](auto flag) { return flag != 0; });
  }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Kernel> kernel_;
};

// Blocks of bf16 of any significand up to `amax`, over eight powers of two; every sixteenth is
// zeros.
inline std::vector<std::uint16_t> blocks_up_to(float amax, std::mt19937& random) {
  std::vector<std::uint16_t> x(kTieBlocks * 16);
  std::uint32_t largest = 0;
  std::memcpy(&largest, &amax, sizeof largest);
  largest >>= 16;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t magnitude = largest - random() % (8 * 128), sign = random() % 2 << 15;
    x[i] = static_cast<std::uint16_t>(i / 16 % 16 == 0 ? sign : magnitude | sign);
  }
  return x;
}

inline void expect_tie_blocks_as_the_recipe(std::shared_ptr<Device> device) {
  TieBlocks on(std::move(device));
  std::mt19937 random(20261123);
  std::vector<float> amaxes;
  for (int i = 128; i < 256; ++i) amaxes.push_back(static_cast<float>(i) / 32.0f);
  for (int i = 1; i < 64; ++i) amaxes.push_back(static_cast<float>(16 * i + 1));
  for (int i = 1; i < 8; ++i) amaxes.push_back(static_cast<float>(2688 * i));  // 1 / S: an integer
  std::uniform_real_distribution<float> any_amax(1, 2);
  for (int i = 0; i < 64; ++i) amaxes.push_back(any_amax(random));
  for (const float amax : amaxes) {
    EXPECT_EQ(on.seldom(blocks_up_to(amax, random), amax), 0) << amax;
    if (::testing::Test::HasFailure()) return;
  }
  std::vector<std::uint16_t> any(kTieBlocks * 16);
  for (auto& pattern : any) pattern = static_cast<std::uint16_t>(random() & 0x807F);
  for (const float amax : amaxes) {  // subnormal elements, whose scales are 0
    on.seldom(any, amax);
    if (::testing::Test::HasFailure()) return;
  }
  // Amaxes next to those that make a block's step a number q of eight bits, or 4/5 of one, where
  // products of q, 5/4 q, 3/2 q and 7/4 q are midpoints or just beside them.
  for (int q = 3; q < 256; q += 2) {
    for (int by = -4; by <= 4; ++by) {
      const float exact =
          by == 4 ? 2688.0f * static_cast<float>(q) / 5.0f : 21.0f * static_cast<float>(q);
      const float amax = exact * (1.0f + static_cast<float>(by == 4 ? 0 : by) * 0x1p-23f);
      on.seldom(blocks_up_to(amax, random), amax);
      if (::testing::Test::HasFailure()) return;
    }
  }
  for (int i = 14; i < 20; ++i) {  // subnormal scales
    on.seldom(blocks_up_to(6.0f, random), std::ldexp(6.0f, i));
    if (::testing::Test::HasFailure()) return;
  }
  for (auto& pattern : any) pattern = static_cast<std::uint16_t>(random());
  EXPECT_GT(on.seldom(any, 5.0f), 0);                         // NaN, infinities, cut off
  EXPECT_GT(on.seldom(blocks_up_to(6.0f, random), 0.5f), 0);  // larger than the largest
  EXPECT_GT(on.seldom(blocks_up_to(6.0f, random), 5.2f), 0);  // just too large
  EXPECT_EQ(on.seldom(any, 0x1p-126f), kTieBlocks);           // a global scale out of range
  EXPECT_EQ(on.seldom(any, 0x1p120f), kTieBlocks);
  EXPECT_EQ(on.seldom(blocks_up_to(6.0f, random), -6.0f), kTieBlocks);  // scales with a sign
  EXPECT_EQ(on.seldom(blocks_up_to(0x1p-20f, random), -6.0f), kTieBlocks);
}

}  // namespace diecast::variants
