// Casts of shards to MXFP8 on a GPU equal quantizing the whole weights, in both directions.
#include <gtest/gtest.h>

#include "ops/gpu_device_test.h"
#include "ops/mx_weight_group.h"

namespace diecast {
namespace {

class MxShardedWeightsOnGpu : public GpuDeviceTest {};

TEST_F(MxShardedWeightsOnGpu, EveryBf16ValueIsAsInTheFullCast) {
  EXPECT_EQ(weights_test::cast_mx_every_bf16_value(*runtime_, device_), "");
}

TEST_F(MxShardedWeightsOnGpu, EqualTheFullCastHoweverTheyAreCut) {
  EXPECT_EQ(weights_test::cast_mx_however_cut(*runtime_, device_), "");
}

TEST_F(MxShardedWeightsOnGpu, OfEveryMasterAndModelTypeGatheredOrNot) {
  EXPECT_EQ(weights_test::cast_mx_every_type(*runtime_, device_), "");
}

TEST_F(MxShardedWeightsOnGpu, OfEveryCutOfASmallOne) {
  EXPECT_EQ(weights_test::cast_mx_every_small_cut(*runtime_, device_), "");
}

TEST_F(MxShardedWeightsOnGpu, OfNothingFiniteOrNothingAtAll) {
  EXPECT_EQ(weights_test::cast_mx_nothing_finite(*runtime_, device_), "");
}

TEST_F(MxShardedWeightsOnGpu, TenThousandSmallOnes) {
  EXPECT_EQ(weights_test::cast_mx_ten_thousand(*runtime_, device_), "");
}

TEST_F(MxShardedWeightsOnGpu, OfTheLastRowsBehind2To31Elements) {
  if (device_->properties().memory_bytes < std::int64_t{16} << 30) {
    GTEST_SKIP() << "16 GiB of device memory are needed";
  }
  EXPECT_EQ(weights_test::cast_mx_last_rows(*runtime_, device_, 65568, 32784), "");
}

}  // namespace
}  // namespace diecast
