// Reading a manifest's line; see manifest_line.h.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest_line.h>

namespace diecast {

bool is_op_line(std::string_view line) {
  const auto all = words(line);
  return !all.empty() && all[0] == "op";
}

Result<Choices> read_choices(const Spelling& line, const FindParameter& find) {
  Choices choices;
  for (const auto& [name, words] : line.values) {
    DIECAST_TRY(const Parameter* const parameter, find(name));
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
                     cat(name, "=* needs a set to choose from, and ", name, " takes any ",
                         parameter->type == ParameterType::real ? "number" : "integer"),
                     cat("list the values: ", name, "=4096,8192")};
      }
    }
    choices.emplace_back(name, std::move(values));
  }
  return choices;
}

Result<std::vector<Target>> targets_of(const Spelling& line, std::span<const Target> given) {
  if (!given.empty()) return std::vector<Target>(given.begin(), given.end());
  std::vector<Target> targets;
  for (const std::string& word : line.targets) {
    DIECAST_TRY(targets.emplace_back(), Target::parse(word));
  }
  if (targets.empty()) {
    return Error{ErrorCode::value_missing, "no target",
                 "end the line in `@ sm_90a`, or give --target"};
  }
  return targets;
}

// Each takes a part of a millisecond before anything is compiled.
constexpr std::size_t kMostKernels = 20000;

Result<void> check_kernels(std::size_t count) {
  if (count <= kMostKernels) return {};
  return Error{ErrorCode::not_supported, cat("the line names more than ", kMostKernels, " kernels"),
               "list fewer values of its parameters, or write several lines"};
}

Result<void> check_count(const Choices& choices, std::size_t targets) {
  std::size_t count = targets;
  for (const auto& [name, values] : choices) {
    if (__builtin_mul_overflow(count, values.size(), &count)) count = kMostKernels + 1;
    DIECAST_CHECK(check_kernels(count));
  }
  return {};
}

bool next_combination(const Choices& choices, std::vector<std::size_t>& index) {
  std::size_t i = choices.size();
  while (i > 0 && ++index[i - 1] == choices[i - 1].second.size()) index[--i] = 0;
  return i > 0;
}

Error error_on_line(std::string_view where, Error error) {
  error.what = cat(where, ": ", error.what);
  return error;
}

}  // namespace diecast
