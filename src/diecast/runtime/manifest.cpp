// Expanding manifest lines; see manifest.h.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>

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
    if (parameter == nullptr) {
      std::vector<std::string> names;
      for (const Parameter& known : tmpl.parameters()) names.push_back(known.name);
      return Error{ErrorCode::unknown_parameter,
                   cat("template ", tmpl.name(), " has no parameter ", quote(name),
                       did_you_mean(name, names)),
                   cat("its parameters are ", join(names, ", "))};
    }
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

// Every combination of the choices, in order, for one target.
Result<void> add_combinations(Runtime& runtime, const std::shared_ptr<const Template>& tmpl,
                              const Choices& choices, const Target& target,
                              std::vector<Specialization>& out, std::optional<Error>& refused) {
  std::vector<std::size_t> index(choices.size(), 0);
  for (;;) {
    Bindings bindings;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      bindings.set(choices[i].first, choices[i].second[index[i]]);
    }
    auto made = Specialization::make(tmpl, bindings, target);
    if (made) {
      const auto tuned = runtime.tuned_variants(*made, bindings);
      out.push_back(*std::move(made));
      out.insert(out.end(), tuned.begin(), tuned.end());
    } else if (made.error().code == ErrorCode::constraint_violated) {
      refused = made.error();
    } else {
      return made.error();
    }
    std::size_t i = choices.size();
    while (i > 0 && ++index[i - 1] == choices[i - 1].second.size()) index[--i] = 0;
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
    std::optional<Error> refused;
    for (const Target& target : wanted) {
      DIECAST_CHECK(add_combinations(runtime, tmpl, choices, target, out, refused));
    }
    if (out.empty()) return *refused;
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
    DIECAST_TRY(auto expanded, expand_spelling(runtime, line, cat(file, ":", number), targets));
    for (Specialization& specialization : expanded) {
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
