// Expanding manifest lines; see manifest.h.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/template/requirements.h>

#include <algorithm>
#include <set>

namespace diecast {
namespace {

using Choices = std::vector<std::pair<std::string, std::vector<Value>>>;

Error at(std::string_view where, Error error) {
  error.what = cat(where, ": ", error.what);
  return error;
}

// The values a line gives each parameter; parameters it does not name keep their defaults.
Result<Choices> choices_of(const Template& tmpl, const Spelling& spelling) {
  Choices choices;
  for (const auto& [name, words] : spelling.values) {
    const Parameter* parameter = tmpl.parameter(name);
    if (parameter == nullptr) return unknown_parameter(tmpl, name);
    std::vector<Value> values;
    for (const std::string& word : words) {
      if (word != "*") {
        DIECAST_TRY(Value value, parameter->read(word));
        values.push_back(std::move(value));
      } else if (parameter->type == ParameterType::boolean) {
        values = {Value::boolean(false), Value::boolean(true)};
      } else if (!parameter->allowed.empty()) {
        values = parameter->allowed;
      } else {
        return Error{ErrorCode::value_not_allowed,
                     cat(name, "=* needs a set to choose from, and ", name, " takes any integer"),
                     cat("list the values: ", name, "=4096,8192")};
      }
    }
    choices.emplace_back(name, std::move(values));
  }
  return choices;
}

Result<std::vector<Target>> targets_of(const Spelling& spelling, std::span<const Target> given) {
  if (!given.empty()) return std::vector<Target>(given.begin(), given.end());
  std::vector<Target> targets;
  for (const std::string& word : spelling.targets) {
    DIECAST_TRY(targets.emplace_back(), Target::parse(word));
  }
  if (targets.empty()) {
    return Error{ErrorCode::value_missing, "no target",
                 "end the line in `@ sm_90a`, or give --target"};
  }
  return targets;
}

// A slip of the pen must not keep a machine busy for a day; each combination takes a part of a
// millisecond before anything is compiled.
constexpr std::size_t kMostKernels = 20000;

Result<void> check_count(const Choices& choices, std::size_t targets) {
  std::size_t count = targets;
  for (const auto& [name, values] : choices) {
    if (!__builtin_mul_overflow(count, values.size(), &count) && count <= kMostKernels) continue;
    return Error{ErrorCode::not_supported,
                 cat("the line names more than ", kMostKernels, " kernels"),
                 "list fewer values of its parameters, or write several lines"};
  }
  return {};
}

// The combinations of one line. Most of a wide line may break a requirement: that is asked first,
// of numbers alone, because an error looks for values that fit, and only the last one is ever told.
class Combinations {
 public:
  Combinations(Runtime& runtime, std::shared_ptr<const Template> tmpl, const Choices& choices)
      : runtime_(runtime), tmpl_(std::move(tmpl)), choices_(choices) {}

  // Every combination of the choices, in order, for one target.
  Result<void> add(const Target& target, std::vector<Specialization>& out);
  // Why the last combination that was left out does not hold.
  Error refused() const { return Specialization::make(tmpl_, refused_, *refused_target_).error(); }

 private:
  Bindings bindings(std::span<const std::size_t> index) const;
  // The defaults, and where each choice stands; none where a value is missing.
  std::optional<Point> start(std::vector<std::size_t>& places) const;

  Runtime& runtime_;
  const std::shared_ptr<const Template> tmpl_;
  const Choices& choices_;
  Bindings refused_;
  std::optional<Target> refused_target_;
};

Bindings Combinations::bindings(std::span<const std::size_t> index) const {
  Bindings bindings;
  for (std::size_t i = 0; i < choices_.size(); ++i)
    bindings.set(choices_[i].first, choices_[i].second[index[i]]);
  return bindings;
}

std::optional<Point> Combinations::start(std::vector<std::size_t>& places) const {
  Point point;
  places.resize(choices_.size());
  for (const Parameter& parameter : tmpl_->parameters()) {
    const auto chosen = std::ranges::find(choices_, parameter.name, &Choices::value_type::first);
    if (chosen != choices_.end())
      places[static_cast<std::size_t>(chosen - choices_.begin())] = point.size();
    else if (!parameter.fallback)
      return std::nullopt;
    point.push_back(parameter.fallback ? parameter.fallback->number : 0);
  }
  return point;
}

Result<void> Combinations::add(const Target& target, std::vector<Specialization>& out) {
  std::vector<std::size_t> index(choices_.size(), 0), places;
  std::optional<Point> point = start(places);
  if (!point || !tmpl_->supports(target))  // the first combination has the error to say
    return Specialization::make(tmpl_, bindings(index), target).error();
  DIECAST_TRY(Requirements requirements, Requirements::compile(*tmpl_, target));
  for (;;) {
    for (std::size_t i = 0; i < choices_.size(); ++i)
      (*point)[places[i]] = choices_[i].second[index[i]].number;
    if (requirements.first_broken(*point) >= 0) {
      refused_ = bindings(index);
      refused_target_ = target;
    } else {
      const Bindings chosen = bindings(index);
      DIECAST_TRY(Specialization made, Specialization::make(tmpl_, chosen, target, requirements));
      const auto tuned = runtime_.tuned_variants(made, chosen);
      out.push_back(std::move(made));
      out.insert(out.end(), tuned.begin(), tuned.end());
    }
    std::size_t i = choices_.size();
    while (i > 0 && ++index[i - 1] == choices_[i - 1].second.size()) index[--i] = 0;
    if (i == 0) return {};
  }
}

}  // namespace

Result<std::vector<Specialization>> expand_spelling(Runtime& runtime, std::string_view line,
                                                    std::string_view where,
                                                    std::span<const Target> targets) {
  const auto expand = [&]() -> Result<std::vector<Specialization>> {
    DIECAST_TRY(const Spelling spelling, parse_spelling(line));
    DIECAST_TRY(const auto tmpl, runtime.find_template(spelling.name));
    DIECAST_TRY(const Choices choices, choices_of(*tmpl, spelling));
    DIECAST_TRY(const std::vector<Target> wanted, targets_of(spelling, targets));
    DIECAST_CHECK(check_count(choices, wanted.size()));
    std::vector<Specialization> out;
    Combinations combinations(runtime, tmpl, choices);
    for (const Target& target : wanted) DIECAST_CHECK(combinations.add(target, out));
    if (out.empty()) return combinations.refused();
    return out;
  };
  auto expanded = expand();
  if (!expanded) return at(where, expanded.error());
  return expanded;
}

Result<std::vector<Specialization>> expand_manifest(Runtime& runtime, std::string_view text,
                                                    std::string_view file,
                                                    std::span<const Target> targets) {
  std::vector<Specialization> all;
  std::set<std::string> seen;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = cat(file, ":", number);
    auto expanded = expand_spelling(runtime, line, where, targets);
    if (!expanded && expanded.error().code == ErrorCode::constraint_violated && !targets.empty() &&
        expand_spelling(runtime, line, where, {})) {
      continue;  // of its own targets alone: clusters, say
    }
    if (!expanded) return expanded.error();
    for (Specialization& specialization : *expanded) {
      if (seen.insert(specialization.spelling()).second) all.push_back(std::move(specialization));
    }
  }
  if (all.empty()) {
    return Error{ErrorCode::parse_error, cat(file, ": the manifest names no kernel"),
                 "write one spelling a line, for example `amax IN=bf16 @ sm_90a`"};
  }
  return all;
}

}  // namespace diecast
