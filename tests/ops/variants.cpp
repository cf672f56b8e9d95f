// The cases of a template's samples, and the table of the runners; see variants.h.
#include "ops/variants.h"

#include <diecast/base/text.h>

#include <functional>
#include <map>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

std::vector<std::int64_t> samples_of(const Template& tmpl, std::string_view name) {
  for (const Samples& samples : tmpl.samples()) {
    if (samples.name == name) return samples.values;
  }
  return {};
}

}  // namespace

std::vector<Case> cases_of(const Specialization& specialization) {
  const Template& tmpl = specialization.tmpl();
  // What works on no matrix takes `count` of something; elsewhere count is sampled as 0.
  const std::vector<std::int64_t> counts = samples_of(tmpl, "count");
  const bool counted = !counts.empty() && counts != std::vector<std::int64_t>{0};
  std::int64_t divisor = 1;
  for (const BoundArgument& argument : specialization.arguments()) {
    if (argument.name == (counted ? "count" : "cols")) divisor = argument.divisible;
  }
  std::vector<Case> cases;
  std::uint64_t seed = 1;
  for (const std::int64_t count : counts) {
    if (counted && count % divisor == 0) cases.push_back({1, count, false, false, seed++});
  }
  if (counted) return cases;
  const std::int64_t fixed = tmpl.parameter("COLS") != nullptr ? specialization.number("COLS") : 0;
  std::vector<std::int64_t> all_cols = samples_of(tmpl, "cols");
  if (fixed != 0) all_cols = {fixed};
  for (const std::int64_t rows : samples_of(tmpl, "rows")) {
    for (const std::int64_t cols : all_cols) {
      if (cols % divisor != 0) continue;
      cases.push_back({rows, cols, seed % 2 == 0, seed % 5 == 0, seed});
      if (cols < 100) cases.push_back({rows, cols, true, seed % 5 != 0, seed + 1000});
      ++seed;
    }
  }
  return cases;
}

std::vector<Case> pattern_cases(const Specialization& specialization) {
  const bool counted = specialization.tmpl().size("count") != nullptr &&
                       specialization.tmpl().size("rows") == nullptr;
  const std::int64_t rows = counted ? 1 : 64, cols = 65536 / rows;
  return {{rows, cols, false, false, 5, true}, {rows, cols, false, false, 10, true}};
}

namespace {

// By the template's name. The runners add themselves before main() begins.
std::map<std::string, Runner, std::less<>>& runners() {
  static std::map<std::string, Runner, std::less<>> table;
  return table;
}

}  // namespace

void add_runner(std::string_view template_name, Runner runner) {
  runners().emplace(template_name, runner);
}

const std::vector<std::string>& known_templates() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, runner] : runners()) all.push_back(name);
    return all;
  }();
  return names;
}

namespace {

// The launch's own tunes at their defaults, and now and then each of their other values: they must
// not change a bit either.
std::vector<Bindings> tunes_for(const Template& tmpl, const Case& one) {
  std::vector<Bindings> tunes = {{}};
  for (const Parameter& parameter : tmpl.parameters()) {
    if (parameter.compiled() || one.seed % 3 != 0) continue;
    for (const Value& value : parameter.allowed) tunes.push_back(Bindings{{parameter.name, value}});
  }
  return tunes;
}

}  // namespace

std::string difference(Kernel& kernel, const Case& one) {
  const Specialization& s = kernel.specialization();
  const auto runner = runners().find(s.tmpl().name());
  if (runner == runners().end()) return cat("no runner for template ", s.tmpl().name());
  for (const Bindings& tunes : tunes_for(s.tmpl(), one)) {
    const std::string problem = runner->second(kernel, one, tunes);
    if (problem.empty()) continue;
    std::string tuned;
    for (const auto& [name, value] : tunes.entries())
      tuned += cat(" ", name, "=", value.spelling());
    return cat(s.spelling(), tuned, " on [", one.rows, ", ", one.cols, "]",
               one.strided ? " strided" : "", one.device_rows ? " device rows" : "", " seed ",
               one.seed, ": ", problem);
  }
  return "";
}

}  // namespace diecast::variants
