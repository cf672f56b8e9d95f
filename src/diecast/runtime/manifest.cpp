// Expanding manifest lines; see manifest.h.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/manifest_line.h>
#include <diecast/template/requirements.h>

#include <algorithm>
#include <set>

namespace diecast {
namespace {

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
  do {
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
  } while (next_combination(choices_, index));
  return {};
}

Result<std::vector<Specialization>> refuse_op(Runtime&, std::string_view line,
                                              std::string_view where, std::span<const Target>) {
  return Error{ErrorCode::not_supported,
               cat(where, ": ", quote(line, 80), " names an op, and here only kernels are known"),
               "expand it by expand_op() of diecast/ops/expand_ops.h, as `diecast warm` does"};
}

}  // namespace

Result<std::vector<Specialization>> expand_spelling(Runtime& runtime, std::string_view line,
                                                    std::string_view where,
                                                    std::span<const Target> targets) {
  if (is_op_line(line)) return refuse_op(runtime, line, where, targets);
  const auto expand = [&]() -> Result<std::vector<Specialization>> {
    DIECAST_TRY(const Spelling spelling, parse_spelling(line));
    DIECAST_TRY(const auto tmpl, runtime.find_template(spelling.name));
    const auto find = [&](std::string_view name) -> Result<const Parameter*> {
      if (const Parameter* const parameter = tmpl->parameter(name)) return parameter;
      return unknown_parameter(*tmpl, name);
    };
    DIECAST_TRY(const Choices choices, read_choices(spelling, find));
    DIECAST_TRY(const std::vector<Target> wanted, targets_of(spelling, targets));
    DIECAST_CHECK(check_count(choices, wanted.size()));
    std::vector<Specialization> out;
    Combinations combinations(runtime, tmpl, choices);
    for (const Target& target : wanted) DIECAST_CHECK(combinations.add(target, out));
    if (out.empty()) return combinations.refused();
    return out;
  };
  auto expanded = expand();
  if (!expanded) return error_on_line(where, expanded.error());
  return expanded;
}

Result<std::vector<Specialization>> expand_manifest(Runtime& runtime, std::string_view text,
                                                    std::string_view file,
                                                    std::span<const Target> targets,
                                                    ExpandLine expand_op) {
  std::vector<Specialization> all;
  std::set<std::string> seen;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = cat(file, ":", number);
    const ExpandLine expand = !is_op_line(line)      ? expand_spelling
                              : expand_op != nullptr ? expand_op
                                                     : refuse_op;
    auto expanded = expand(runtime, line, where, targets);
    if (!expanded && expanded.error().code == ErrorCode::constraint_violated && !targets.empty() &&
        expand(runtime, line, where, {})) {
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
