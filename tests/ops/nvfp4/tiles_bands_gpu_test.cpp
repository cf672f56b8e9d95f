// Both sides at once of matrices with whole bands of tiles (templates/device/tile/tile_stripes.h),
// whose columns' scales a cluster writes together on 9.0, with what is left below a band, and with
// more tiles than there are thread blocks.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/gpu_device_test.h"
#include "ops/variants.h"

namespace diecast {
namespace {

struct Of {
  const char* name;
  Bindings bindings;
};

class TilesInBandsOnGpu : public GpuDeviceTest, public ::testing::WithParamInterface<Of> {};

TEST_P(TilesInBandsOnGpu, EqualTheReferenceToTheBit) {
  const auto one =
      runtime_->specialize_for("quantize_nvfp4_tiles", GetParam().bindings, *device_).value();
  const auto kernel = runtime_->preload(one, device_).value();
  // Bands are of eight tiles of 128 rows, of four where a row has more than 32 of them. Under seeds
  // that 3 divides a multiprocessor also gets one thread block at most.
  for (const variants::Case& on : {variants::Case{1024, 256, false, false, 1},
                                   {1024, 272, true, true, 2},
                                   {1000, 304, true, false, 3},
                                   {898, 16, false, true, 4},
                                   {912, 80, false, false, 5},
                                   {2178, 528, true, true, 6},
                                   {650, 8208, true, false, 7},
                                   {8300, 528, false, false, 9}}) {
    EXPECT_EQ(variants::difference(*kernel, on), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, TilesInBandsOnGpu,
    ::testing::Values(Of{"bf16", Bindings().set("IN", DType::bf16)},
                      Of{"f16", Bindings().set("IN", DType::f16)},
                      Of{"grouped", Bindings().set("IN", DType::bf16).set("GROUPED", true)},
                      Of{"s128x4", Bindings().set("IN", DType::bf16).set("LAYOUT", "s128x4")},
                      Of{"s8x4", Bindings().set("IN", DType::f16).set("LAYOUT", "s8x4")}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace diecast
