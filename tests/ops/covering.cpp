// Greedy pair covering; see covering.h.
#include "ops/covering.h"

#include <diecast/base/text.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "how_many.h"

namespace diecast::variants {
namespace {

// The points of spaces as small numbers, and the pairs of two parameters' values as places of a
// table: a space has tens of thousands of points. Of single values a pair is a value with itself.
class Pairs {
 public:
  Pairs(const std::vector<std::vector<Bindings>>& spaces, Covered covered) : covered_(covered) {
    std::map<std::string, std::size_t> numbers;
    for (const auto& space : spaces) {
      for (const Bindings& bindings : space) {
        std::vector<std::size_t>& point = points_.emplace_back();
        for (const auto& [name, value] : bindings.entries()) {
          point.push_back(
              numbers.emplace(cat(name, '=', value.spelling()), numbers.size()).first->second);
        }
      }
    }
    values_ = numbers.size();
    open_.assign(values_ * values_, false);
    for (const auto& point : points_) each(point, [&](std::size_t pair) { open_[pair] = true; });
  }

  // How many pairs of a point are still open; and taking them.
  std::size_t open(std::size_t point) const {
    std::size_t count = 0;
    each(points_[point], [&](std::size_t pair) { count += open_[pair]; });
    return count;
  }
  void take(std::size_t point) {
    each(points_[point], [&](std::size_t pair) { open_[pair] = false; });
  }

 private:
  template <class Visit>
  void each(const std::vector<std::size_t>& point, const Visit& visit) const {
    // A value counts as a pair with itself, for templates of one parameter.
    for (std::size_t i = 0; i < point.size(); ++i) {
      const std::size_t end = covered_ == Covered::pairs ? point.size() : i + 1;
      for (std::size_t j = i; j < end; ++j) visit(point[i] * values_ + point[j]);
    }
  }

  Covered covered_;
  std::vector<std::vector<std::size_t>> points_;
  std::size_t values_ = 0;
  std::vector<bool> open_;
};

bool all_variants() {
  const char* value = std::getenv("DIECAST_TEST_VARIANTS");
  return value != nullptr && std::string_view(value) == "all";
}

// What a run of some minutes builds of one template at most.
constexpr std::size_t kLargestProduct = 150;

// Templates whose plain variants are all built, and their options that vary in these.
const std::map<std::string, std::set<std::string>, std::less<>> kPlainOptions = {
    {"amax", {"PER"}},
    {"quantize_nvfp4", {"ROW_SCALE"}},
    {"quantize_nvfp4_row_scaled", {}},
    {"dequantize_nvfp4", {"ROW_SCALE", "GLOBAL"}}};

// Values that some code is for alone: pairs need not bring three together.
const std::map<std::string, std::map<std::string, std::string>, std::less<>> kTogetherToo = {
    {"dequantize_mx", {{"FORMAT", "mxfp4"}, {"SIDES", "columnwise"}, {"LAYOUT", "linear"}}}};

// covering_set() of a template's space, and a point that has those values.
std::vector<Bindings> covering_set_of(const Template& tmpl, const std::vector<Bindings>& space,
                                      Covered covered = Covered::pairs) {
  auto wanted = covering_set(space, covered);
  const auto together = kTogetherToo.find(tmpl.name());
  if (together == kTogetherToo.end()) return wanted;
  const auto has_all = [&](const Bindings& bindings) {
    return std::ranges::all_of(together->second, [&](const auto& entry) {
      return bindings.find(entry.first)->word == entry.second;
    });
  };
  const auto one = std::ranges::find_if(space, has_all);
  if (one != space.end() && std::ranges::none_of(wanted, has_all)) wanted.push_back(*one);
  return wanted;
}

// Whether it is one of those: every option is at its default but types, those above, shapes, tunes.
bool is_plain(const Template& tmpl, const Bindings& bindings) {
  const auto found = kPlainOptions.find(tmpl.name());
  if (found == kPlainOptions.end()) return false;
  const auto& varied = found->second;
  return std::ranges::all_of(bindings.entries(), [&](const auto& entry) {
    const Parameter& parameter = *tmpl.parameter(entry.first);
    const bool fixed = parameter.kind == Parameter::Kind::option || entry.first == "SCALES_APART";
    return !fixed || !parameter.fallback || varied.contains(entry.first) ||
           *parameter.fallback == entry.second;
  });
}

}  // namespace

std::vector<std::vector<Bindings>> covering_sets(const std::vector<std::vector<Bindings>>& spaces,
                                                 Covered covered) {
  Pairs pairs(spaces, covered);
  std::vector<std::size_t> first = {0};  // place of each space's first point
  for (const auto& space : spaces) first.push_back(first.back() + space.size());
  std::vector<std::size_t> most(first.back());  // pairs a point can still bring: they get fewer
  for (std::size_t i = 0; i < most.size(); ++i) most[i] = pairs.open(i);
  std::vector<std::vector<Bindings>> chosen(spaces.size());
  std::size_t in_vain = 0;
  for (std::size_t turn = 0; in_vain < spaces.size(); turn = (turn + 1) % spaces.size()) {
    std::size_t best = 0, best_new = 0;
    for (std::size_t i = first[turn]; i < first[turn + 1]; ++i) {
      if (most[i] <= best_new) continue;
      most[i] = pairs.open(i);
      if (most[i] > best_new) best = i, best_new = most[i];
    }
    in_vain = best_new == 0 ? in_vain + 1 : 0;
    if (best_new == 0) continue;
    chosen[turn].push_back(spaces[turn][best - first[turn]]);
    pairs.take(best);
  }
  return chosen;
}

std::vector<Bindings> covering_set(const std::vector<Bindings>& space, Covered covered) {
  return covering_sets({space}, covered).front();
}

std::vector<Bindings> wanted_variants(const Template& tmpl, const Target& target,
                                      Covered everyday) {
  auto space = tmpl.space(target).value();
  if (testing::exhaustive()) return space;
  // What a sanitizer watches is among what the build without one compiled for all pairs.
  if (!all_variants() && testing::kSanitized)
    return covering_set_of(tmpl, covering_set_of(tmpl, space), Covered::values);
  if (!all_variants()) return covering_set_of(tmpl, space, everyday);
  if (space.size() <= kLargestProduct) return space;
  auto wanted = covering_set_of(tmpl, space);
  std::ranges::copy_if(space, std::back_inserter(wanted),
                       [&](const Bindings& bindings) { return is_plain(tmpl, bindings); });
  return wanted;
}

std::vector<std::vector<Bindings>> compiled_variants(const Template& tmpl,
                                                     const std::vector<Target>& targets) {
  std::vector<std::vector<Bindings>> spaces;
  for (const Target& target : targets) spaces.push_back(tmpl.space(target).value());
  if (testing::exhaustive()) return spaces;
  if (!all_variants()) return covering_sets(spaces, Covered::values);
  auto wanted = covering_sets(spaces, Covered::pairs);
  for (std::size_t at = 0; at < targets.size(); ++at) {
    const auto& space = spaces[at];
    std::ranges::copy(covering_set(space, Covered::values), std::back_inserter(wanted[at]));
    const bool whole = space.size() <= kLargestProduct;
    for (std::size_t i = 0, nth = 0; i < space.size(); ++i) {
      if (!whole && !is_plain(tmpl, space[i])) continue;
      if (nth++ % targets.size() == at) wanted[at].push_back(space[i]);
    }
  }
  return wanted;
}

std::vector<Bindings> few_variants(const Template& tmpl, const Target& target) {
  const auto space = tmpl.space(target).value();
  if (space.empty()) return {};  // not of this target
  if (all_variants()) return covering_set(space, Covered::values);
  return {space.front()};
}

}  // namespace diecast::variants
