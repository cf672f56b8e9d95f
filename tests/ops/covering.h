// Which variants of a template a test run builds: all of its space, a subset in which every pair of
// values of two parameters occurs together, or one in which every value occurs.
#pragma once

#include <diecast/template/template.h>

#include <vector>

namespace diecast::variants {

enum class Covered { pairs, values };

// A subset of `space` in which every pair of parameter values that occurs in it occurs; or every
// value.
std::vector<Bindings> covering_set(const std::vector<Bindings>& space,
                                   Covered covered = Covered::pairs);

// What this test run builds of the template for the target, where pairs do not bring together three
// values that code is for alone these too: every day what `everyday` says for the host, sm_80,
// sm_90a, sm_100a and sm_120a, and one variant for the targets between. With
// DIECAST_TEST_VARIANTS=all every pair for all targets, and for those five also every plain variant
// of amax, the rowwise NVFP4 quantizers and dequantize_nvfp4, and the whole space if it has no more
// than 150 points. With DIECAST_EXHAUSTIVE=1 the whole space.
std::vector<Bindings> wanted_variants(const Template& tmpl, const Target& target,
                                      Covered everyday = Covered::pairs);

}  // namespace diecast::variants
