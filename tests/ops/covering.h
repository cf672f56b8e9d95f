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

// The same for the spaces of several targets together, a set for each: what occurs in any of them
// occurs in one of the sets.
std::vector<std::vector<Bindings>> covering_sets(const std::vector<std::vector<Bindings>>& spaces,
                                                 Covered covered);

// What this test run launches of the template on a target: a covering set, where pairs do not bring
// together three values that code is for alone these too; every day of what `everyday` says (of
// values in a build with a sanitizer), with DIECAST_TEST_VARIANTS=all of pairs. Then also every
// plain variant of amax, the rowwise NVFP4 quantizers and dequantize_nvfp4, and the whole space if
// it has no more than 150 points. With DIECAST_EXHAUSTIVE=1 the whole space.
std::vector<Bindings> wanted_variants(const Template& tmpl, const Target& target,
                                      Covered everyday = Covered::pairs);

// What this test run compiles of the template for each target, without a look at results: every
// day every value on one of the targets. With DIECAST_TEST_VARIANTS=all every pair, every plain
// variant and every point of a small space on one of them, and every value on each. With
// DIECAST_EXHAUSTIVE=1 the whole space of each.
std::vector<std::vector<Bindings>> compiled_variants(const Template& tmpl,
                                                     const std::vector<Target>& targets);
// One variant of the template; with DIECAST_TEST_VARIANTS=all a set in which every value occurs.
std::vector<Bindings> few_variants(const Template& tmpl, const Target& target);

}  // namespace diecast::variants
