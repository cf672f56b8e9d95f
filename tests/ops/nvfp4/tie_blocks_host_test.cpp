// Blocks by factors that know of ties, on this processor; see tie_blocks.h.
#include "ops/tie_blocks.h"

namespace diecast {
namespace {

TEST(TieBlocks, AreAsTheRecipeQuantizesThem) {
  variants::expect_tie_blocks_as_the_recipe(open_host_device({}).value());
}

}  // namespace
}  // namespace diecast
