// Blocks by factors that know of ties, on a GPU; see tie_blocks.h.
#include "ops/gpu_device_test.h"
#include "ops/tie_blocks.h"

namespace diecast {
namespace {

class TieBlocksOnGpu : public GpuDeviceTest {};

TEST_F(TieBlocksOnGpu, AreAsTheRecipeQuantizesThem) {
  variants::expect_tie_blocks_as_the_recipe(device_);
}

}  // namespace
}  // namespace diecast
