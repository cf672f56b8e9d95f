// Choosing among timings; see choice.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/choice.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace diecast {
namespace {

constexpr double kMargin = 0.01;

// One timed record, taken apart.
struct Timed {
  const TuningRecord* record;
  double ns;  // the median and the spread: what is quick at times alone is not the quickest
  Bindings tunes;
  std::vector<std::size_t> compiled,
      launch;  // ranks of the values: 0 the default, then the header's
};

// Where a value stands: the default before all others.
std::size_t rank_of(const Parameter& parameter, const Value& value) {
  if (parameter.fallback && *parameter.fallback == value) return 0;
  const auto at = std::find(parameter.allowed.begin(), parameter.allowed.end(), value);
  return 1 + static_cast<std::size_t>(at - parameter.allowed.begin());
}

// None for a configuration that the caller's own values leave out.
std::vector<Timed> timed_of(const Template& tmpl, std::span<const TuningRecord> records,
                            const Bindings& given) {
  std::vector<Timed> out;
  for (const TuningRecord& record : records) {
    if (record.outcome != TuningRecord::Outcome::timed) continue;
    const auto ns = static_cast<double>(record.ns);
    Timed one{&record, ns + ns * static_cast<double>(record.spread) / 1000, {}, {}, {}};
    bool fits = true;
    for (const std::string_view word : words(record.tunes)) {
      const std::size_t equals = word.find('=');
      const Parameter* const parameter = tmpl.parameter(word.substr(0, equals));
      const auto value =
          parameter == nullptr ? Result<Value>(Error{}) : parameter->read(word.substr(equals + 1));
      if (!value) {  // of another template of this name
        fits = false;
        break;
      }
      if (const Value* wanted = given.find(parameter->name)) {
        const auto checked = parameter->check(*wanted);
        fits = fits && checked && *checked == *value;
      }
      (parameter->compiled() ? one.compiled : one.launch).push_back(rank_of(*parameter, *value));
      one.tunes.set(parameter->name, *value);
    }
    if (fits) out.push_back(std::move(one));
  }
  return out;
}

using Compiled = std::vector<std::size_t>;
using BestBySizes = std::map<RunSizes, double>;
using BySizes = std::map<RunSizes, std::vector<const Timed*>>;

// The quickest of each compiled configuration, by sizes.
std::map<Compiled, BestBySizes> best_of(const std::vector<Timed>& timed) {
  std::map<Compiled, BestBySizes> out;
  for (const Timed& one : timed) {
    double& best = out[one.compiled].try_emplace(one.record->sizes, one.ns).first->second;
    best = std::min(best, one.ns);
  }
  return out;
}

// How much slower than the best, on average over the sizes (a logarithm): of those configurations
// that were timed at the most sizes.
Compiled choose_compiled(const std::vector<Timed>& timed) {
  const auto by_configuration = best_of(timed);
  BestBySizes best;
  std::size_t most = 0;
  for (const auto& [configuration, times] : by_configuration) {
    most = std::max(most, times.size());
    for (const auto& [sizes, ns] : times) {
      double& least = best.try_emplace(sizes, ns).first->second;
      least = std::min(least, ns);
    }
  }
  std::map<Compiled, double> slower;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [configuration, times] : by_configuration) {
    if (times.size() != most) continue;
    double sum = 0;
    for (const auto& [sizes, ns] : times) sum += std::log(ns / best.at(sizes));
    slower[configuration] = sum / static_cast<double>(most);
    least = std::min(least, slower[configuration]);
  }
  for (const auto& [configuration, by] : slower) {  // in the order of ranks: the default first
    if (by <= least + std::log1p(kMargin)) return configuration;
  }
  return {};
}

// Of the records of one size: as good as the best, and first in the order of ranks.
const Timed* choose_among(const std::vector<const Timed*>& timed) {
  const auto rank = [](const Timed* one) { return std::tie(one->compiled, one->launch); };
  const auto best = *std::ranges::min_element(
      timed, {}, [&](const Timed* one) { return std::tuple_cat(std::tie(one->ns), rank(one)); });
  const double most = best->ns * (1 + kMargin);
  const Timed* chosen = best;
  for (const Timed* one : timed) {
    if (one->ns <= most && rank(one) < rank(chosen)) chosen = one;
  }
  return chosen;
}

// Tunes that are approx and do not go by sizes have one value at all of them.
Bindings with_approx(const Template& tmpl, std::span<const TuningRecord> records,
                     const Bindings& given) {
  Bindings out = given;
  const auto one_for_all = [](const Parameter& each) {
    return each.sums == Parameter::Sums::approx;
  };
  if (std::ranges::none_of(tmpl.parameters(), one_for_all)) return out;
  const TunedChoice choice = choose_tunes(tmpl, records, given);
  for (const Parameter& parameter : tmpl.parameters())
    if (const Value* const value = choice.compiled.find(parameter.name);
        value != nullptr && one_for_all(parameter))
      out.set(parameter.name, *value);
  return out;
}

}  // namespace

TunedChoice choose_tunes(const Template& tmpl, std::span<const TuningRecord> records,
                         const Bindings& given) {
  TunedChoice out;
  const std::vector<Timed> timed = timed_of(tmpl, records, given);
  if (timed.empty()) return out;
  const Compiled compiled = choose_compiled(timed);
  BySizes by_sizes;
  for (const Timed& one : timed) {
    if (one.compiled == compiled) by_sizes[one.record->sizes].push_back(&one);
  }
  for (const auto& [sizes, some] : by_sizes) {
    const Timed& chosen = *choose_among(some);
    TunedLaunch launch{sizes, {}};
    for (const auto& [name, value] : chosen.tunes.entries()) {
      (tmpl.parameter(name)->compiled() ? out.compiled : launch.tunes).set(name, value);
    }
    out.launches.push_back(std::move(launch));
  }
  return out;
}

std::vector<TunedPoint> tuned_points(const Template& tmpl, std::span<const TuningRecord> records,
                                     const Bindings& given) {
  const std::vector<Timed> timed = timed_of(tmpl, records, with_approx(tmpl, records, given));
  BySizes by_sizes;
  for (const Timed& one : timed) by_sizes[one.record->sizes].push_back(&one);
  std::vector<TunedPoint> out;
  for (const auto& [sizes, some] : by_sizes) {
    const Timed& chosen = *choose_among(some);
    out.push_back({sizes, chosen.tunes, std::llround(chosen.ns)});
  }
  return out;
}

std::string TunedChoice::text(const Template& tmpl) const {
  const auto words_of = [&](const Bindings& bindings) {
    std::string out;
    for (const Parameter& parameter : tmpl.parameters()) {
      if (const Value* value = bindings.find(parameter.name))
        out += cat(" ", parameter.name, "=", value->spelling(),
                   parameter.sums == Parameter::Sums::same ? "" : " approx");
    }
    return out;
  };
  std::string out = words_of(compiled);
  for (const TunedLaunch& launch : launches) {
    out += ";";
    for (const auto& [name, size] : launch.sizes) out += cat(" ", name, "=", size);
    out += cat(":", words_of(launch.tunes));
  }
  return out;
}

}  // namespace diecast
