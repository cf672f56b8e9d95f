// The words that the headers of base, vector.h and reduce.h give to kernels on the host, against
// this file's own arithmetic.
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "launch/host_kernels.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

using testing::compile_host;
using testing::launch;
using testing::launch_shape;
using testing::load_kernel;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// Runs `code`'s kernel over pairs of floats; it writes `results` words a pair.
std::vector<std::uint32_t> over_pairs(std::string_view code, const std::string& name,
                                      const std::vector<std::array<float, 2>>& pairs,
                                      std::size_t results) {
  const auto device = *open_host_device({.threads = 1});
  const auto kernel = load_kernel(*device, code, name);
  std::vector<std::uint32_t> out(pairs.size() * results);
  launch(*device, *kernel, launch_shape(1, static_cast<std::uint32_t>(pairs.size())), pairs.data(),
         out.data())
      .value();
  return out;
}

std::vector<std::array<float, 2>> pairs_of_specials() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {
      0.0f,      -0.0f,      1.0f,           -1.0f, 0x1p-149f, -0x1p-149f, 3e38f, -3e38f,
      kInfinity, -kInfinity, 0x1.fffffep-1f, NAN,   0x1p-126f, -0x1p-126f, 6.0f,  448.0f};
  std::vector<std::array<float, 2>> pairs;
  for (float a : values) {
    for (float b : values) pairs.push_back({a, b});
  }
  return pairs;
}

// The rule of PTX's max and min: a NaN gives way, and +0 is above -0.
float expected_max(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

TEST(Simt, FloatMaximaAndMinimaAreThoseOfPtx) {
  const auto pairs = pairs_of_specials();
  const auto out = over_pairs(R"(
HOST_KERNEL(none, extremes) {
  const f32* x = argument<const f32*>(p, 0) + 2 * threadIdx.x;
  u32* out = argument<u32*>(p, 1) + 5 * threadIdx.x;
  out[0] = __float_as_uint(fmaxf(x[0], x[1]));
  out[1] = __float_as_uint(fminf(x[0], x[1]));
  out[2] = __float_as_uint(max(x[0], x[1]));
  out[3] = __float_as_uint(min(x[0], x[1]));
  out[4] = __float_as_uint(fabsf(x[0]));
}
)",
                              "extremes", pairs, 5);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    const std::uint32_t most = bits(expected_max(a, b)), least = bits(-expected_max(-a, -b));
    if (std::isnan(a) && std::isnan(b)) {
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(out[5 * i])));
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(out[5 * i + 1])));
    } else {
      EXPECT_EQ(out[5 * i], most) << a << " " << b;
      EXPECT_EQ(out[5 * i + 1], least) << a << " " << b;
    }
    EXPECT_EQ(out[5 * i + 2], out[5 * i]);
    EXPECT_EQ(out[5 * i + 3], out[5 * i + 1]);
    EXPECT_EQ(out[5 * i + 4], bits(a) & 0x7fffffffu);
  }
}

TEST(Simt, EveryOperationRoundsOnceAndByItself) {
  std::vector<std::array<float, 2>> pairs;
  std::mt19937 random(7);
  const auto number = [&] {  // 0.5 to 2, all bits of the fraction
    return std::bit_cast<float>(static_cast<std::uint32_t>(0x3f000000u + random() % 0x01000000u));
  };
  for (int i = 0; i < 1000; ++i) pairs.push_back({number(), number()});
  const auto out = over_pairs(R"(
HOST_KERNEL(none, arithmetic) {
  const f32* x = argument<const f32*>(p, 0) + 2 * threadIdx.x;
  u32* out = argument<u32*>(p, 1) + 8 * threadIdx.x;
  out[0] = __float_as_uint(__fadd_rn(x[0], x[1]));
  out[1] = __float_as_uint(__fsub_rn(x[0], x[1]));
  out[2] = __float_as_uint(__fmul_rn(x[0], x[1]));
  out[3] = __float_as_uint(__fdiv_rn(x[0], x[1]));
  out[4] = __float_as_uint(__frcp_rn(x[0]));
  out[5] = __float_as_uint(__fmaf_rn(x[0], x[1], -1.0f));
  out[6] = __float_as_uint(x[0] * x[1] - 1.0f);
  out[7] = __float_as_int(__int_as_float(__float_as_int(__uint_as_float(__float_as_uint(x[0])))));
}
)",
                              "arithmetic", pairs, 8);
  int differ = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    // In f64 each of these is exact, or so near that rounding it to f32 is the one rounding.
    const double a = pairs[i][0], b = pairs[i][1];
    const std::uint32_t* words = &out[8 * i];
    ASSERT_EQ(words[0], bits(static_cast<float>(a + b)));
    ASSERT_EQ(words[1], bits(static_cast<float>(a - b)));
    ASSERT_EQ(words[2], bits(static_cast<float>(a * b)));
    ASSERT_EQ(words[3], bits(static_cast<float>(a / b)));
    ASSERT_EQ(words[4], bits(static_cast<float>(1 / a)));
    ASSERT_EQ(words[5], bits(static_cast<float>(a * b - 1)));
    ASSERT_EQ(words[6], bits(static_cast<float>(double{static_cast<float>(a * b)} - 1)));
    ASSERT_EQ(words[7], bits(pairs[i][0]));
    differ += words[5] != words[6];
  }
  EXPECT_GT(differ, 100) << "the fused product must be seen to differ from the plain one";
}

TEST(Simt, IntegerWordsAreThoseOfCuda) {
  const auto device = *open_host_device({.threads = 1});
  const auto kernel = load_kernel(*device, R"(
HOST_KERNEL(none, integers) {
  const u32 x = argument<u32*>(p, 0)[threadIdx.x], y = x * 2654435761u + 12345u;
  u32* out = argument<u32*>(p, 1) + 4 * threadIdx.x;
  out[0] = __popc(x);
  out[1] = __clz(static_cast<i32>(x));
  out[2] = __ffs(static_cast<i32>(x));
  out[3] = __byte_perm(x, y, x >> 5);
  static_assert(min(-1, 2) == -1 && max(-1, 2) == 2 && max(-1, 2u) == 0xffffffffu);
  static_assert(min(-5ll, 3ll) == -5 && max(1ull << 40, 2ull) == 1ull << 40 && min(3u, 4u) == 3);
}
)",
                                  "integers");
  std::vector<std::uint32_t> x = {0, 1, 2, 0x80000000u, 0xffffffffu, 0x00010000u};
  std::mt19937 random(11);
  while (x.size() < 1000) x.push_back(static_cast<std::uint32_t>(random() >> (random() % 32)));
  std::vector<std::uint32_t> out(4 * x.size());
  launch(*device, *kernel, launch_shape(1, 1000), x.data(), out.data()).value();
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(out[4 * i], static_cast<std::uint32_t>(std::popcount(x[i])));
    ASSERT_EQ(out[4 * i + 1], static_cast<std::uint32_t>(std::countl_zero(x[i])));
    ASSERT_EQ(out[4 * i + 2], x[i] == 0 ? 0u : std::countr_zero(x[i]) + 1u);
    const std::uint32_t words[2] = {x[i], x[i] * 2654435761u + 12345u};
    std::uint32_t expected = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const std::uint32_t pick = (x[i] >> 5) >> (4 * byte) & 7;
      expected |= (words[pick / 4] >> (8 * (pick % 4)) & 255) << (8 * byte);
    }
    ASSERT_EQ(out[4 * i + 3], expected) << x[i];
  }
}

TEST(Simt, VectorsMoveTheirBytesAndNoOthers) {
  const auto device = *open_host_device({.threads = 1});
  Artifact artifact = compile_host(
      R"(
template <int Bytes> DIECAST_DEVICE void move(const u8* from, u8* to) {
  store_streaming<Bytes>(to, load_streaming<Bytes>(from));
  store_streaming<Bytes>(to + 64, load<Bytes>(from + 64));
}
HOST_KERNEL(none, moves) {
  const u8* from = argument<const u8*>(p, 0);
  u8* to = argument<u8*>(p, 1);
  static_assert(sizeof(Vector<16>) == 16 && alignof(Vector<8>) == 8);
  move<4>(from + 4, to + 4);
  move<8>(from + 16, to + 16);
  move<16>(from + 32, to + 32);
}
)",
      "moves", {}, {"memory/vector.h"});
  const auto kernel = *device->load(artifact, {}, nullptr);
  alignas(16) std::array<unsigned char, 128> from, to{}, expected{};
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  for (int half : {0, 64}) {
    for (int i : {4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}) expected[half + i] = from[half + i];
    for (int i = 32; i < 48; ++i) expected[half + i] = from[half + i];
  }
  launch(*device, *kernel, launch_shape(1, 1), from.data(), to.data()).value();
  EXPECT_EQ(to, expected);
}

TEST(Simt, MaximaOfWarpsAndBlocksAndNaNReachEveryThread) {
  const auto device = *open_host_device({.threads = 1});
  std::mt19937 random(3);
  std::vector<float> x(1024);
  for (float& value : x) value = std::ldexp(static_cast<float>(random() % 4096), -20);
  for (const std::uint32_t threads : {32u, 64u, 256u, 1024u}) {
    Artifact artifact = compile_host("constexpr int THREADS = " + std::to_string(threads) + R"(;
HOST_KERNEL(block, maxima) {
  const f32 value = argument<const f32*>(p, 0)[threadIdx.x];
  f32* out = argument<f32*>(p, 1) + 3 * threadIdx.x;
  out[0] = warp_reduce_max(value);
  out[1] = block_reduce_max<THREADS>(value, 0);
  out[2] = block_reduce_max<THREADS>(threadIdx.x == 7 ? value / 0.0f * 0.0f : value, 1);
}
)",
                                     "maxima", {}, {"threads/reduce.h"});
    const auto kernel = *device->load(artifact, {}, nullptr);
    std::vector<float> out(3 * threads);
    launch(*device, *kernel, launch_shape(1, threads), x.data(), out.data()).value();
    const auto larger = [](float a, float b) { return std::fmax(a, b); };
    const float most = std::accumulate(x.begin(), x.begin() + threads, -1e30f, larger);
    for (std::uint32_t i = 0; i < threads; ++i) {
      const auto warp = x.begin() + i / 32 * 32;
      ASSERT_EQ(out[3 * i], std::accumulate(warp, warp + 32, -1e30f, larger));
      ASSERT_EQ(out[3 * i + 1], most);
      ASSERT_TRUE(std::isnan(out[3 * i + 2]));
    }
  }
}

}  // namespace
}  // namespace diecast

#endif
