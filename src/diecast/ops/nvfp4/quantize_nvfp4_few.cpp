// From bounds and records to kernels for few elements; see quantize_nvfp4_few.h.
#include <diecast/ops/nvfp4/quantize_nvfp4_few.h>
#include <diecast/runtime/tuning/bound.h>
#include <diecast/runtime/tuning/choice.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace diecast {
namespace {

constexpr std::string_view kFewRows = "quantize_nvfp4_few";

std::int64_t number(const Bindings& bindings, std::string_view name) {
  return bindings.find(name)->number;
}

// Its template and options, of a template that is for few rows alone.
std::optional<KernelWanted> without_tunes(const KernelWanted& wanted) {
  if (wanted.name != kFewRows && wanted.name != "quantize_nvfp4_row_scaled_few")
    return std::nullopt;
  KernelWanted out{wanted.name, {}};
  for (const char* const option : {"COLS", "IN", "LAYOUT"})
    out.bindings.set(option, *wanted.bindings.find(option));
  return out;
}

// The one template for few elements of which there may be records, or none.
std::optional<KernelWanted> measured_template(const QuantizeNvfp4Kernels& kernels) {
  for (const auto& few : kernels.few)
    if (auto wanted = without_tunes(few.kernel)) return wanted;
  return std::nullopt;
}

std::int64_t elements_of(const RunSizes& sizes, std::int64_t cols) {
  std::int64_t rows = 0;
  for (const auto& [name, value] : sizes) (name == "rows" ? rows : cols) = value;
  return rows * cols;
}

// A launch along y has 65535 thread blocks at most; with tiled scales, whose row length is
// known, some are for the padding of the last rows (the header's launch line).
std::int64_t most_elements(const KernelWanted& wanted) {
  if (wanted.name != kFewRows) return std::numeric_limits<std::int64_t>::max();
  const bool linear = wanted.bindings.find("LAYOUT")->word == word(ScaleLayout::linear);
  const std::int64_t padding = linear ? 0 : 32 * ((number(wanted.bindings, "COLS") + 63) / 64);
  const std::int64_t threads =
      65535 * number(wanted.bindings, "THREADS") * number(wanted.bindings, "BLOCKS") - padding;
  return threads / number(wanted.bindings, "LANES") * 16;
}

// What is fastest at so many elements.
using Fastest = std::map<std::int64_t, std::pair<std::int64_t, KernelWanted>>;  // with ns

Result<Fastest> fastest(Runtime& runtime, Device& device, const KernelWanted& few,
                        const KernelWanted& any) {
  const std::int64_t cols = number(few.bindings, "COLS");
  Fastest out;
  DIECAST_TRY(const auto points, runtime.tuned_points(few.name, few.bindings, device));
  if (points.empty()) return out;
  DIECAST_TRY(const auto tmpl, runtime.find_template(any.name));
  const Bindings of_any = bindings_for(*tmpl, any);
  DIECAST_TRY(const auto others, runtime.tuned_points(any.name, of_any, device));
  const auto add = [&](const RunSizes& sizes, std::int64_t ns, KernelWanted wanted) {
    const auto [at, is_new] = out.try_emplace(elements_of(sizes, cols), ns, wanted);
    if (!is_new && ns < at->second.first) at->second = {ns, std::move(wanted)};
  };
  for (const TunedPoint& point : points) {
    KernelWanted tuned = few;
    for (const auto& [name, value] : point.tunes.entries()) tuned.bindings.set(name, value);
    add(point.sizes, point.ns, std::move(tuned));
    const std::int64_t elements = elements_of(point.sizes, cols);
    const auto other = std::ranges::find_if(others, [&](const TunedPoint& one) {
      return elements_of(one.sizes, number(of_any, "COLS")) == elements;
    });
    if (other != others.end()) add(point.sizes, other->ns, any);
  }
  out.erase(0);
  return out;
}

// As far as half the fewest elements and from twice the most on `table`, between them `points`.
FewKernels merged(const FewKernels& table, const Fastest& points, std::int64_t first,
                  const KernelWanted& any) {
  FewKernels out;
  const auto add = [&](std::int64_t below, const KernelWanted& wanted) {
    if (below <= (out.empty() ? 0 : out.back().below)) return;
    const bool same = !out.empty() && out.back().kernel.name == wanted.name &&
                      out.back().kernel.bindings == wanted.bindings;
    if (same)
      out.back().below = below;
    else
      out.push_back({below, wanted});
  };
  const std::int64_t from = std::max(points.begin()->first / 2, first);
  for (const auto& [below, wanted] : table) add(std::min(below, from), wanted);
  add(from, any);
  for (auto at = points.begin(); at != points.end(); ++at) {
    const auto next = std::next(at);
    const double here = static_cast<double>(at->first);
    const double until =
        next == points.end() ? 2 * here : std::sqrt(here * static_cast<double>(next->first));
    const auto below = static_cast<std::int64_t>(until) + 1;
    const KernelWanted& wanted = at->second.second;
    add(std::min(below, most_elements(wanted)), wanted);
    add(below, any);  // of which its grid has not so many
  }
  for (const auto& [below, wanted] : table) add(below, wanted);
  return out;
}

}  // namespace

Result<FewKernels> few_by_bounds(Runtime& runtime, std::string_view name, const Bindings& options,
                                 std::int64_t cols, const DeviceProperties& device) {
  DIECAST_TRY(const auto tmpl, runtime.find_template(name));
  DIECAST_TRY(const auto bounds, built_in_bounds());
  FewKernels out;
  const std::vector<Target> targets = Target::for_device(device.cc);
  if (targets.empty()) return out;
  DIECAST_TRY(const auto chosen,
              bounded_tunes(*tmpl, bounds, options, cols, targets[0], device.sm_count));
  for (const auto& [below, tunes] : chosen) {
    KernelWanted wanted{name, options};
    for (const auto& [tune, value] : tunes.entries()) wanted.bindings.set(tune, value);
    out.push_back({below, std::move(wanted)});
  }
  return out;
}

Result<void> choose_by_records(Runtime& runtime, Device& device, QuantizeNvfp4Kernels& kernels) {
  const auto few = measured_template(kernels);
  if (!few) return {};
  DIECAST_TRY(const Fastest points, fastest(runtime, device, *few, kernels.any));
  if (!points.empty()) kernels.few = merged(kernels.few, points, kernels.finds_amax, kernels.any);
  return {};
}

Result<std::vector<KernelWanted>> few_of_every_device(Runtime& runtime,
                                                      const QuantizeNvfp4Kernels& kernels,
                                                      const Target& target) {
  std::vector<KernelWanted> out;
  const auto few = measured_template(kernels);
  if (!few) return out;
  DIECAST_TRY(const auto variants, runtime.tuned_point_variants(few->name, few->bindings, target));
  for (const Specialization& one : variants) out.push_back({few->name, one.bindings()});
  return out;
}

}  // namespace diecast
