// A GPU's approximate reciprocal for the references of FlashInfer's fast profiles, asked once for
// each float.
#pragma once

#include <diecast/ops/reference/nvfp4.h>

namespace diecast::variants {

// Of the first GPU.
reference::Reciprocal near_reciprocal();

}  // namespace diecast::variants
