// A tuning bound: up to how many elements one configuration of a kernel is the fastest, as one line
// of text.
//
//   1 | quantize_nvfp4_few LAYOUT=s128x4,s8x4 | NVIDIA_H200/90/132 | cols<=4096
//   elements/sm<7200 | LANES=2 THREADS=256 BLOCKS=1                        (one line)
//
// version | template and options (one that is left out may have any value) | device that it was
// measured on | bounds | tunes. `elements/sm` counts for each multiprocessor, so that a bound of
// one device serves every other; `elements` is what exactly these tunes can take. Like a tuning
// record a bound only chooses among what a template declares: a wrong one costs speed, never a
// result.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/specialization.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct TuningBound {
  Spelling kernel;  // a template and its options, without targets
  std::string device;
  std::int64_t cols = std::numeric_limits<std::int64_t>::max();  // for rows of at most so many
  std::int64_t below = 0;                                        // for fewer elements than these
  bool each_processor = false;                                   // for each multiprocessor
  Spelling tunes;  // the template again, and every tune in declaration order
};

// A file of bounds, one a line; `#` starts a comment. Errors: parse_error with "file:line", saying
// which field is wrong.
Result<std::vector<TuningBound>> parse_tuning_bounds(std::string_view text, std::string_view file);

// Whether the template has all that the bound names. Errors: unknown_parameter, value_not_allowed,
// parse_error (a tune that is missing, an option that is a tune, ...).
Result<void> check_tuning_bound(const TuningBound& bound, const Template& tmpl);

// The bounds that the library carries, cache/tuned/builtin.txt: they serve every device. Errors:
// those of parse_tuning_bounds().
Result<std::span<const TuningBound>> built_in_bounds();

// A configuration of a kernel for fewer elements than `below`.
struct BoundedTunes {
  std::int64_t below = 0;
  Bindings tunes;
};

// What the bounds choose for rows of `cols` and a kernel of these options, from the fewest elements
// on. Of all bounds that rows of this length fit in, those of the least `cols` count. Where the
// target cannot have a tune's value (a cluster before 9.0), that tune has its default; a bound that
// still breaks a requirement, or whose bound is in `elements`, is left out.
Result<std::vector<BoundedTunes>> bounded_tunes(const Template& tmpl,
                                                std::span<const TuningBound> bounds,
                                                const Bindings& options, std::int64_t cols,
                                                const Target& target, int multiprocessors);

}  // namespace diecast
