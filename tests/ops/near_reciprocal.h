// A GPU's approximate reciprocal for the reference of flashinfer_fast, asked once for each float.
#pragma once

#include <diecast/ops/reference/nvfp4.h>

namespace diecast::variants {

// Of the first GPU.
reference::Reciprocal near_reciprocal();

}  // namespace diecast::variants
