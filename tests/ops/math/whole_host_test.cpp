// floor, ceil, trunc, rint and round on this processor. A sample of all floats and every number of
// 16 bits; with DIECAST_EXHAUSTIVE=1 all 2^32 floats.
#include "how_many.h"
#include "ops/host_device_test.h"
#include "ops/math/whole.h"

namespace diecast::math_test {
namespace {

using WholeOnHost = HostDeviceTest;

TEST_F(WholeOnHost, OfSixteenBitsIsTheCLibrarys) {
  for (const DType type : {DType::bf16, DType::f16})
    for (std::size_t function = 0; function < kWholes.size(); ++function)
      expect_whole(device_, type, function, numbers_apart(1, 16));
}

TEST_F(WholeOnHost, OfFloatsIsTheCLibrarys) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 24;
  for (std::size_t function = 0; function < kWholes.size(); ++function) {
    expect_whole(device_, DType::f32, function, numbers_apart(4093, 32));
    for (std::int64_t i = 0; testing::exhaustive() && i < 256; ++i)
      expect_whole(device_, DType::f32, function,
                   {static_cast<std::uint32_t>(i * kPiece), 1, kPiece});
  }
}

// Where halves, zeros and the first numbers without a fraction are.
TEST_F(WholeOnHost, OfFloatsIsTheCLibrarysAtEdges) {
  for (const std::uint32_t first : {0u, 0x3EFFFF00u, 0x3F7FFF00u, 0x3FBFFF00u, 0x401FFF00u,
                                    0x4AFFFF00u, 0x4B7FFF00u, 0x4EFFFF00u, 0x7F7FFF00u}) {
    for (std::size_t function = 0; function < kWholes.size(); ++function) {
      expect_whole(device_, DType::f32, function, {first, 1, 512});
      expect_whole(device_, DType::f32, function, {first | 0x80000000u, 1, 512});
    }
  }
}

}  // namespace
}  // namespace diecast::math_test
