// The reference's encodings against a second formulation on all 2^32 floats: minutes, so only on
// request (DIECAST_EXHAUSTIVE=1). The sampled version is in reference_numbers_test.cpp.
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>
#include <ops/second_formulations.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "how_many.h"

namespace diecast::reference {
namespace {

// How many floats of a share the two encode differently, and the first of them.
struct Differences {
  std::uint64_t count = 0;
  std::uint64_t first = 0;
};

template <class Encode, class Second>
Differences compare(std::uint64_t begin, std::uint64_t end, Encode encode, Second second) {
  Differences found;
  for (std::uint64_t u = begin; u < end; ++u) {
    const float x = second::float_of(static_cast<std::uint32_t>(u));
    if (encode(x) != second(x) && found.count++ == 0) found.first = u;
  }
  return found;
}

class Exhaustive : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::exhaustive()) {
      GTEST_SKIP() << "takes minutes; DIECAST_EXHAUSTIVE=1 runs all 2^32 floats";
    }
  }

  template <class Encode, class Second>
  void expect_same(Encode encode, Second second) {
    constexpr std::uint64_t all = std::uint64_t{1} << 32;
    const std::uint64_t shares = std::max(1u, std::thread::hardware_concurrency());
    std::vector<Differences> found(shares);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < shares; ++i) {
      threads.emplace_back(
          [&, i] { found[i] = compare(all * i / shares, all * (i + 1) / shares, encode, second); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Differences& share : found) {
      EXPECT_EQ(share.count, 0u) << "first at 0x" << std::hex << share.first;
    }
  }
};

TEST_F(Exhaustive, E2m1) { expect_same(encode_e2m1, second::e2m1); }
TEST_F(Exhaustive, E4m3) { expect_same(encode_e4m3, second::e4m3); }
TEST_F(Exhaustive, E5m2) { expect_same(encode_e5m2, second::e5m2); }
TEST_F(Exhaustive, E8m0) { expect_same(encode_e8m0, second::e8m0); }
TEST_F(Exhaustive, Bf16) { expect_same(encode_bf16, second::bf16); }
TEST_F(Exhaustive, F16) { expect_same(encode_f16, second::f16); }

}  // namespace
}  // namespace diecast::reference
