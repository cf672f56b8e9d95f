// What a linear layer's promise of equal bits stands on: a sum of products on Hopper's tensor cores
// has the same bits in wgmma of every width. And what exact sums of a block stand on: 16 products
// of two NVFP4 blocks are summed without an error.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

constexpr std::size_t kRows = 64, kColumns = 256, kBlock = 16;
constexpr int kWidths[] = {8, 16, 32, 64, 128, 256};

std::uint16_t bf16_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

float float_of(std::uint16_t bf16) {
  const std::uint32_t bits = std::uint32_t{bf16} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Factors and first sums of many tiles, each of 64 rows by 256 columns.
struct Factors {
  std::size_t tiles;
  int steps;  // products of 16 in a sum
  std::vector<std::uint16_t> a, b;
  std::vector<float> c;

  Factors(std::size_t number, int blocks)
      : tiles(number),
        steps(blocks),
        a(tiles * kRows * depth()),
        b(tiles * kColumns * depth()),
        c(tiles * kRows * kColumns) {}
  std::size_t depth() const { return kBlock * static_cast<std::size_t>(steps); }
};

class TensorWidths : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (device_->properties().cc != 90) GTEST_SKIP() << "wgmma is of compute capability 9.0";
    runtime_ = test_runtime_with("gemm/tensor_widths.cu");
  }

  std::vector<std::uint32_t> sums(const Factors& of, int width) {
    const DeviceBuffer a(*device_, of.a.data(), of.a.size() * 2);
    const DeviceBuffer b(*device_, of.b.data(), of.b.size() * 2);
    const DeviceBuffer c(*device_, of.c.data(), of.c.size() * 4);
    const DeviceBuffer d(*device_, of.c.size() * 4);
    const Bindings bindings = Bindings{}.set("WIDTH", width).set("STEPS", of.steps);
    const auto one = runtime_->specialize_for("tensor_widths", bindings, *device_).value();
    runtime_->preload(one, device_)
        .value()
        ->launch({{"a", a.argument(DType::bf16)},
                  {"b", b.argument(DType::bf16)},
                  {"c", c.argument(DType::f32)},
                  {"d", d.argument(DType::f32)},
                  {"tiles", KernelArgument::size(static_cast<std::int64_t>(of.tiles))}},
                 {})
        .value();
    const std::vector<std::uint8_t> bytes = d.bytes();
    EXPECT_TRUE(d.guards_are_whole());
    std::vector<std::uint32_t> out(of.c.size());
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

// Where two differ; any NaN is as good as another.
std::size_t differences(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  const auto is_nan = [](std::uint32_t word) { return (word & 0x7FFFFFFFu) > 0x7F800000u; };
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    count += a[i] != b[i] && !(is_nan(a[i]) && is_nan(b[i])) ? 1 : 0;
  return count;
}

// The tiles take turns in how their factors are drawn.
Factors drawn(std::size_t tiles, int steps) {
  Factors out(tiles, steps);
  std::mt19937 random(90);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> wide(-60, 60), near(-12, 12), bits(0, 0xFFFF);
  const std::function<float()> kinds[] = {
      [&] { return normal(random); },
      [&] { return std::ldexp(normal(random), near(random)); },
      [&] { return std::ldexp(normal(random), wide(random)); },
      // One in 16 is huge, the others are lost beside it or decide its last bit.
      [&] { return normal(random) * (random() % 16 == 0 ? 0x1p20f : 1.0f); },
      // Few values, so that sums cancel.
      [&] { return (random() % 2 == 0 ? 1.0f : -1.0f) * std::ldexp(1.0f, near(random)); },
      [&] { return float_of(static_cast<std::uint16_t>(bits(random))); },
      [&] { return std::ldexp(normal(random), -70); },
  };
  const auto fill = [&](auto& to, std::size_t tile, auto convert) {
    const std::size_t length = to.size() / tiles;
    const auto& kind = kinds[tile % std::size(kinds)];
    for (std::size_t i = 0; i < length; ++i) to[tile * length + i] = convert(kind());
  };
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    fill(out.a, tile, bf16_of);
    fill(out.b, tile, bf16_of);
    if (tile / std::size(kinds) % 2 == 0) fill(out.c, tile, [](float value) { return value; });
  }
  return out;
}

TEST_F(TensorWidths, DoNotChangeASum) {
  for (const int steps : {1, 4}) {
    const Factors of = drawn(128, steps);  // 2 million sums
    const std::vector<std::uint32_t> widest = sums(of, 256);
    for (const int width : kWidths) {
      EXPECT_EQ(differences(sums(of, width), widest), 0u) << width << " columns, " << steps;
    }
    EXPECT_EQ(differences(sums(of, 0), widest), 0u) << "mma.sync, " << steps;
  }
}

TEST_F(TensorWidths, AddABlocksProductsWithoutAnError) {
  constexpr float kE2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  Factors of(16, 1);
  std::mt19937 random(16);
  // Codes, and weights: codes times an E4M3 scale, which bf16 holds.
  const auto code = [&] { return kE2m1[random() % 8] * (random() % 2 == 0 ? 1.0f : -1.0f); };
  for (std::uint16_t& value : of.a) value = bf16_of(code());
  for (std::size_t i = 0; i < of.b.size(); i += kBlock) {
    const float scale =
        std::ldexp(8.0f + static_cast<float>(random() % 8), static_cast<int>(random() % 15) - 9);
    for (std::size_t k = 0; k < kBlock; ++k) of.b[i + k] = bf16_of(code() * scale);
  }
  for (const int width : {0, 8, 256}) {
    const std::vector<std::uint32_t> got = sums(of, width);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t row = i / kColumns, tile = row / kRows, column = i % kColumns;
      double sum = 0;
      for (std::size_t k = 0; k < kBlock; ++k) {
        sum += double{float_of(of.a[row * kBlock + k])} *
               double{float_of(of.b[(tile * kColumns + column) * kBlock + k])};
      }
      float value;
      std::memcpy(&value, &got[i], sizeof value);
      wrong += double{value} != sum ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u) << width;
  }
}

}  // namespace
}  // namespace diecast
