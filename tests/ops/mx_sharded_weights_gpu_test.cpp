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

}  // namespace
}  // namespace diecast
