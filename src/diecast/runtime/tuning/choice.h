// From records to one configuration. The same records give the same choice, in whatever order they
// come: ranks that have one file choose alike.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/runtime/tuning/record.h>

#include <span>
#include <string>
#include <vector>

namespace diecast {

struct TunedChoice {
  Bindings compiled;  // UPPER CASE tunes; empty: nothing is known, the defaults hold
  std::vector<TunedLaunch> launches;             // lower-case tunes, by measured sizes
  std::string text(const Template& tmpl) const;  // for digests: "THREADS=128; rows=1: waves=8"
};

// `records`: of one kernel on one device, checked, each key once. `given`: tunes that the caller
// has set; only configurations with these values count. A configuration counts by its
// median and the spread of its measurement together: of two that are about as quick the steady one
// is. What is within 1 % of the best is as good as it: among those the default wins, else the first
// in the order of the header. Compiled tunes are one choice for all sizes, the least slower than
// the best of each; launch tunes are chosen for each size.
TunedChoice choose_tunes(const Template& tmpl, std::span<const TuningRecord> records,
                         const Bindings& given);

// The configuration of each size by the same rule, compiled tunes too: for who holds several
// kernels and chooses at each launch. In the order of the sizes.
struct TunedPoint {
  RunSizes sizes;
  Bindings tunes;
  std::int64_t ns = 0;  // the median and the spread
};
std::vector<TunedPoint> tuned_points(const Template& tmpl, std::span<const TuningRecord> records,
                                     const Bindings& given);

}  // namespace diecast
