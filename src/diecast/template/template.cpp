// What a parsed template answers: its parts by name, its targets, its space.
#include <diecast/base/text.h>
#include <diecast/template/embedded.h>
#include <diecast/template/parse/header_parser.h>
#include <diecast/template/requirements.h>
#include <diecast/template/specialization.h>
#include <diecast/template/template.h>

#include <algorithm>

namespace diecast {
namespace {

template <class Part>
const Part* find(const std::vector<Part>& parts, std::string_view name) {
  for (const Part& part : parts)
    if (part.name == name) return &part;
  return nullptr;
}

Result<Value> not_allowed(const Parameter& parameter, std::string_view word) {
  std::vector<std::string> words;  // a number is no slip for another
  for (const Value& value : parameter.allowed)
    if (parameter.type != ParameterType::integer && parameter.type != ParameterType::real)
      words.push_back(value.spelling());
  return Error{ErrorCode::value_not_allowed,
               cat(parameter.name, " cannot be ", quote(word, 40), did_you_mean(word, words)),
               cat("give ", parameter.name, " ", parameter.allowed_text())};
}

constexpr std::size_t kLargestSpace = 16'000'000;  // what is looked at, in a second or two
constexpr std::size_t kMostPoints = 1'000'000;     // each takes a kilobyte or two

// The values a parameter takes in the space.
Result<std::vector<Value>> choices(const Template& tmpl, const Parameter& parameter,
                                   const Bindings& fixed) {
  if (const Value* value = fixed.find(parameter.name)) {
    DIECAST_TRY(Value checked, parameter.check(*value));
    return std::vector<Value>{std::move(checked)};
  }
  if (!parameter.compiled()) return std::vector<Value>{*parameter.fallback};
  if (const Samples* samples = find(tmpl.samples(), parameter.name)) {
    std::vector<Value> values;
    for (std::int64_t number : samples->values) {
      DIECAST_TRY(Value value, parameter.check(Value::integer(number)));
      values.push_back(std::move(value));
    }
    return values;
  }
  if (!parameter.allowed.empty()) return parameter.allowed;
  if (parameter.fallback) return std::vector<Value>{*parameter.fallback};
  const bool real = parameter.type == ParameterType::real;
  return Error{ErrorCode::value_missing,
               cat(tmpl.name(), ": ", parameter.name, " can be any ",
                   real ? "number" : "integer and has no samples"),
               cat("give ", parameter.name, "=..., or add ",
                   real ? "a set of values" : cat("a line `sample ", parameter.name, " {...}`"),
                   " to ", tmpl.name(), ".cu")};
}

}  // namespace

bool Parameter::compiled() const { return !name.empty() && name[0] >= 'A' && name[0] <= 'Z'; }

std::string Parameter::allowed_text() const {
  if (type == ParameterType::boolean) return "0 or 1";
  if (allowed.empty() && type == ParameterType::real) return std::string(kReals);
  if (allowed.empty()) return kind == Kind::shape ? "an integer of 0 or more" : "an integer";
  std::vector<std::string> words;
  for (const Value& value : allowed) words.push_back(value.spelling());
  return words.size() == 1 ? words[0] : cat("one of ", join(words, ", "));
}

Result<Value> Parameter::read(std::string_view word) const {
  if (type == ParameterType::boolean) {
    if (word == "0" || word == "false") return Value::boolean(false);
    if (word == "1" || word == "true") return Value::boolean(true);
  } else if (type == ParameterType::real) {
    const auto value = parse_real(word);
    if (value && (allowed.empty() || std::ranges::find(allowed, *value) != allowed.end()))
      return *value;
  } else if (type == ParameterType::integer) {
    if (const auto number = parse_integer(word)) return check(Value::integer(*number));
  } else {
    for (const Value& value : allowed)
      if (value.word == word) return value;
  }
  return not_allowed(*this, word);
}

Result<Value> Parameter::check(const Value& value) const {
  if (!value.word.empty() || value.type == ParameterType::enumeration) return read(value.word);
  if (type == ParameterType::real) return read(value.spelling());
  if (type == ParameterType::boolean && (value.number == 0 || value.number == 1))
    return Value::boolean(value.number == 1);
  if (type == ParameterType::integer && value.type == ParameterType::integer) {
    const bool listed = std::find(allowed.begin(), allowed.end(), value) != allowed.end();
    if (allowed.empty() ? kind != Kind::shape || value.number >= 0 : listed) return value;
  }
  return not_allowed(*this, value.spelling());
}

std::string Place::text() const { return cat(file, ":", line); }

Result<std::shared_ptr<const Template>> Template::parse(std::string_view name,
                                                        std::string_view text,
                                                        const TemplateFiles& files) {
  return HeaderParser::parse(name, text, files);
}

Result<std::shared_ptr<const Template>> Template::parse(std::string_view name,
                                                        std::string_view text) {
  static const auto& built_in = *new TemplateFiles(TemplateFiles::embedded());
  return parse(name, text, built_in);
}

std::string Template::targets_text() const {
  std::vector<std::string> words;
  if (host_) words.emplace_back("host");
  if (minimum_cc_ != 0) words.push_back(cat("sm_", minimum_cc_, "+"));
  for (const Target& target : listed_targets_) words.push_back(target.name());
  return join(words, ", ");
}

bool Template::supports(const Target& target) const {
  const bool of_a_kind = target.is_host() ? host_ : minimum_cc_ != 0 && target.cc >= minimum_cc_;
  if (of_a_kind) return true;
  return std::find(listed_targets_.begin(), listed_targets_.end(), target) != listed_targets_.end();
}

std::string_view Template::code() const { return std::string_view(text_).substr(code_offset_); }

const Parameter* Template::parameter(std::string_view name) const {
  return find(parameters_, name);
}
const Let* Template::let(std::string_view name) const { return find(lets_, name); }
const Size* Template::size(std::string_view name) const { return find(sizes_, name); }
const Argument* Template::argument(std::string_view name) const { return find(arguments_, name); }

Result<std::vector<Bindings>> Template::space(const Target& target, const Bindings& fixed) const {
  std::vector<Bindings> points;
  for (const auto& [name, value] : fixed.entries())
    if (parameter(name) == nullptr) return unknown_parameter(*this, name);
  if (!supports(target)) return points;
  std::vector<std::vector<Value>> axes;
  std::size_t count = 1;
  for (const Parameter& each : parameters_) {
    DIECAST_TRY(auto values, choices(*this, each, fixed));
    count *= values.size();
    axes.push_back(std::move(values));
    if (count > kLargestSpace)
      return Error{ErrorCode::invalid_argument,
                   cat("the space of ", name_, " has more than ", kLargestSpace, " combinations"),
                   "fix some of its parameters"};
  }
  DIECAST_TRY(Requirements requirements, Requirements::compile(*this, target));
  Point point(axes.size());
  std::vector<std::size_t> strides(axes.size(), 1);  // points that agree up to a parameter
  for (std::size_t i = axes.size(); i-- > 1;) strides[i - 1] = strides[i] * axes[i].size();
  std::vector<std::size_t> kept;
  for (std::size_t number = 0; number < count; ++number) {
    std::size_t rest = number;
    for (std::size_t i = axes.size(); i-- > 0; rest /= axes[i].size())
      point[i] = axes[i][rest % axes[i].size()].number;
    if (const int broken = requirements.first_broken(point); broken >= 0) {
      if (axes.empty()) continue;
      const std::size_t alike = strides[requirements.last_parameter(broken)];
      number += alike - number % alike - 1;
      continue;
    }
    if (kept.size() == kMostPoints)
      return Error{ErrorCode::invalid_argument,
                   cat("the space of ", name_, " has more than ", kMostPoints, " points"),
                   "fix some of its parameters"};
    kept.push_back(number);
  }
  points.reserve(kept.size());
  for (std::size_t below : kept) {
    Bindings bindings;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      bindings.set(parameters_[i].name, axes[i][below / strides[i]]);
      below %= strides[i];
    }
    points.push_back(std::move(bindings));
  }
  return points;
}

}  // namespace diecast
