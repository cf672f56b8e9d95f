// Casts of shards to MXFP8 on a GPU equal quantizing the whole weights, in both directions.
#include <gtest/gtest.h>

#include "ops/mx_weight_group.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

TEST(MxShardedWeightsOnGpu, EveryBf16ValueIsAsInTheFullCast) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  EXPECT_EQ(weights_test::cast_mx_every_bf16_value(*test_runtime(), *device), "");
}

TEST(MxShardedWeightsOnGpu, EqualTheFullCastHoweverTheyAreCut) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  EXPECT_EQ(weights_test::cast_mx_however_cut(*test_runtime(), *device), "");
}

TEST(MxShardedWeightsOnGpu, OfEveryMasterAndModelTypeGatheredOrNot) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  EXPECT_EQ(weights_test::cast_mx_every_type(*test_runtime(), *device), "");
}

TEST(MxShardedWeightsOnGpu, OfEveryCutOfASmallOne) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  EXPECT_EQ(weights_test::cast_mx_every_small_cut(*test_runtime(), *device), "");
}

TEST(MxShardedWeightsOnGpu, OfNothingFiniteOrNothingAtAll) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  EXPECT_EQ(weights_test::cast_mx_nothing_finite(*test_runtime(), *device), "");
}

TEST(MxShardedWeightsOnGpu, TenThousandSmallOnes) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  EXPECT_EQ(weights_test::cast_mx_ten_thousand(*test_runtime(), *device), "");
}

TEST(MxShardedWeightsOnGpu, OfTheLastRowsBehind2To31Elements) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  if ((*device)->properties().memory_bytes < std::int64_t{16} << 30) {
    GTEST_SKIP() << "16 GiB of device memory are needed";
  }
  EXPECT_EQ(weights_test::cast_mx_last_rows(*test_runtime(), *device, 65568, 32784), "");
}

}  // namespace
}  // namespace diecast
