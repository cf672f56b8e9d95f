// All 65,536 values of bf16 and of f16 through a quantizer on a device, equal to the reference to
// the bit: in order, so that neighbours are alike, and scattered, so that a block has them of any
// size.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ops/covering.h"
#include "ops/test_runtime.h"
#include "ops/variants.h"

namespace diecast::testing {

inline constexpr const char* kQuantizers[] = {
    "fp4_fake_quant_block",      "quantize_mx",
    "quantize_mx_tiles",         "quantize_nvfp4",
    "quantize_nvfp4_row_scaled", "quantize_nvfp4_few",
    "quantize_nvfp4_tiles",      "static_blockwise_fp4_fake_quant"};

// A set with every value of every option, for any row length and both types.
inline std::vector<Specialization> of_both_types(const std::string& name, const Target& target) {
  const auto tmpl = test_runtime()->find_template(name).value();
  std::vector<Specialization> out;
  std::set<std::string> known;
  for (Bindings bindings : variants::wanted_variants(*tmpl, target, variants::Covered::values)) {
    if (tmpl->parameter("COLS") != nullptr) bindings.set("COLS", 0);
    for (const DType dtype : {DType::bf16, DType::f16}) {
      bindings.set("IN", dtype);
      auto one = Specialization::make(tmpl, bindings, target);
      if (one && known.insert(one->spelling()).second) out.push_back(*std::move(one));
    }
  }
  return out;
}

// `most`: of so many of the specializations, spread evenly.
inline void expect_patterns_as_the_reference(const std::string& name, const Target& target,
                                             const std::shared_ptr<Device>& device,
                                             std::size_t most = SIZE_MAX) {
  const auto runtime = test_runtime();
  std::vector<Specialization> all = of_both_types(name, target);
  ASSERT_GE(all.size(), 2u);
  for (std::size_t i = 0; most < all.size() && i < most; ++i) all[i] = all[i * all.size() / most];
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size())), all.end());
  for (const WarmOutcome& outcome : warm(*runtime, all)) {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
  }
  for (const Specialization& specialization : all) {
    const auto kernel = runtime->preload(specialization, device).value();
    for (const variants::Case& one : variants::pattern_cases(specialization)) {
      ASSERT_EQ(variants::difference(*kernel, one), "");
    }
  }
}

}  // namespace diecast::testing
