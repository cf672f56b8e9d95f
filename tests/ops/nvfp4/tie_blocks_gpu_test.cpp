// Blocks by factors that know of ties, on a GPU; see tie_blocks.h.
#include "ops/test_runtime.h"
#include "ops/tie_blocks.h"

namespace diecast {
namespace {

TEST(TieBlocksOnGpu, AreAsTheRecipeQuantizesThem) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  variants::expect_tie_blocks_as_the_recipe(*device);
}

}  // namespace
}  // namespace diecast
