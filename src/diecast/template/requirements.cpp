// Requirements compiled and explained; see requirements.h.
#include <diecast/base/text.h>
#include <diecast/template/requirements.h>

#include <algorithm>

namespace diecast {
namespace {

std::string shown(const Parameter& parameter, std::int64_t number) {
  if (parameter.type == ParameterType::integer || parameter.type == ParameterType::boolean)
    return cat(number);
  for (const Value& value : parameter.allowed)
    if (value.number == number) return value.word;
  return cat(number);
}

// The parameters a condition names, in order, each once.
std::vector<int> parameters_in(const Template& tmpl, const Expression& condition) {
  std::vector<int> found;
  for (const auto* names : {&condition.names(), &condition.types()}) {
    for (const Expression::Name& name : *names) {
      const Parameter* parameter = tmpl.parameter(name.name);
      if (parameter == nullptr) continue;
      const auto index = static_cast<int>(parameter - tmpl.parameters().data());
      if (std::find(found.begin(), found.end(), index) == found.end()) found.push_back(index);
    }
  }
  return found;
}

std::string values_text(const Template& tmpl, const Target& target, const Expression& condition,
                        const Point& point) {
  std::string text;
  for (int index : parameters_in(tmpl, condition)) {
    const auto i = static_cast<std::size_t>(index);
    text += cat("\n", tmpl.parameters()[i].name, " = ", shown(tmpl.parameters()[i], point[i]));
  }
  for (const char* word : {"host", "cc"}) {
    const auto& names = condition.names();
    if (std::none_of(names.begin(), names.end(),
                     [&](const auto& name) { return name.name == word; }))
      continue;
    text += cat("\n", word, " = ", word == std::string_view("cc") ? target.cc : target.is_host());
  }
  return text;
}

// Far enough for any alignment a kernel asks of a shape, near enough to take milliseconds.
constexpr std::int64_t kSearched = 1 << 16;

class Search {
 public:
  Search(Requirements& requirements, const Point& point, int index, const Parameter& parameter)
      : requirements_(requirements),
        point_(point),
        index_(static_cast<std::size_t>(index)),
        parameter_(parameter),
        value_(point[index_]) {}

  // "the nearest COLS that fit are 4096 and 4112", "LAYOUT = linear or s8x4", or empty.
  std::string fix() {
    std::vector<std::string> found;
    const std::string& name = parameter_.name;
    if (parameter_.type == ParameterType::integer) {
      for (const std::optional<std::int64_t>& each : {neighbour(-1), neighbour(+1)})
        if (each) found.push_back(cat(*each));
      if (found.empty()) return "";
      return cat("the nearest ", name, " that ", found.size() > 1 ? "fit are " : "fits is ",
                 join(found, " and "));
    }
    for (const Value& value : parameter_.allowed)
      if (value.number != value_ && fits(value.number)) found.push_back(value.spelling());
    if (found.empty()) return "";
    const std::string last = found.back();
    found.pop_back();
    return cat(name, " = ", join(found, ", "), found.empty() ? "" : " or ", last);
  }

 private:
  bool fits(std::int64_t value) {
    point_[index_] = value;
    return requirements_.first_broken(point_) < 0;
  }

  std::optional<std::int64_t> neighbour(int step) {
    if (!parameter_.allowed.empty()) return allowed_neighbour(step);
    const std::int64_t lowest = parameter_.kind == Parameter::Kind::shape ? 0 : INT64_MIN;
    std::int64_t value = value_;
    for (std::int64_t i = 0; i < kSearched; ++i) {
      if (step < 0 ? value == lowest : value == INT64_MAX) break;
      value += step;
      if (fits(value)) return value;
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> allowed_neighbour(int step) {
    std::optional<std::int64_t> best;
    for (const Value& each : parameter_.allowed) {
      const bool beyond = step < 0 ? each.number < value_ : each.number > value_;
      const bool nearer = !best || (step < 0 ? each.number > *best : each.number < *best);
      if (beyond && nearer && fits(each.number)) best = each.number;
    }
    return best;
  }

  Requirements& requirements_;
  Point point_;
  std::size_t index_;
  const Parameter& parameter_;
  std::int64_t value_;
};

std::string fix_of(const Template& tmpl, Requirements& requirements, const Expression& condition,
                   const Point& point) {
  std::vector<int> involved = parameters_in(tmpl, condition);
  std::stable_partition(involved.begin(), involved.end(), [&](int index) {
    return tmpl.parameters()[static_cast<std::size_t>(index)].type == ParameterType::integer;
  });
  std::vector<std::string> names, fixes;  // each fix is enough by itself
  for (int index : involved) {
    const Parameter& parameter = tmpl.parameters()[static_cast<std::size_t>(index)];
    names.push_back(parameter.name);
    std::string fix = Search(requirements, point, index, parameter).fix();
    if (!fix.empty()) fixes.push_back(std::move(fix));
  }
  if (!fixes.empty()) return join(fixes, "; or ");
  if (names.empty()) {
    const bool of_target = std::ranges::any_of(condition.names(), [](const Expression::Name& name) {
      return name.name == "host" || name.name == "cc";
    });
    return of_target ? "choose another target" : "it never holds: correct that line";
  }
  if (names.size() == 1)
    return cat("no ", names[0], " near it fits: choose one so that ", condition.text(),
               ", or correct that line");
  return cat("no single change fits: choose ", join(names, " and "), " together so that ",
             condition.text());
}

}  // namespace

Constants constants_of(const Template& tmpl, const Target& target) {
  static const auto& of_types = *new Constants([] {
    Constants types;
    for (const std::string& name : dtype_names()) {
      const DType type = *parse_dtype(name);
      types[name] = static_cast<std::int64_t>(type);
      types["bits:" + name] = dtype_bits(type);
    }
    return types;
  }());
  Constants constants = of_types;
  constants["host"] = target.is_host();
  constants["cc"] = target.cc;
  for (const Parameter& parameter : tmpl.parameters())
    if (parameter.type == ParameterType::enumeration)
      for (const Value& value : parameter.allowed)
        constants[cat(parameter.name, "_", value.word)] = value.number;
  return constants;
}

Result<Requirements> Requirements::compile(const Template& tmpl, const Target& target) {
  Requirements out;
  const Constants constants = constants_of(tmpl, target);
  std::map<std::string, int, std::less<>> slots;
  for (const Parameter& parameter : tmpl.parameters())
    slots.emplace(parameter.name, static_cast<int>(slots.size()));
  const std::size_t count = slots.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = tmpl.parameters()[i];
    if (parameter.type != ParameterType::type) continue;
    slots.emplace("bits:" + parameter.name, static_cast<int>(count + out.types_.size()));
    out.types_.push_back(static_cast<int>(i));
  }
  const Names constant = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = constants.find(name);
    return found == constants.end() ? std::nullopt : std::optional(found->second);
  };
  const auto slot = [&](std::string_view name) -> std::optional<int> {
    const auto found = slots.find(name);
    return found == slots.end() ? std::nullopt : std::optional(found->second);
  };
  for (const Requirement& requirement : tmpl.requirements()) {
    DIECAST_TRY(Program program, Program::compile(requirement.condition, constant, slot));
    out.programs_.push_back(std::move(program));
    const std::vector<int> named = parameters_in(tmpl, requirement.condition);
    const auto last = std::max_element(named.begin(), named.end());
    out.last_.push_back(last == named.end() ? 0 : static_cast<std::size_t>(*last));
  }
  out.parameters_ = count;
  for (std::size_t i = 0; i < tmpl.sizes().size(); ++i) {
    const Size& size = tmpl.sizes()[i];
    if (size.fixed_by.empty() || !size.divisible) continue;
    DIECAST_TRY(Program program, Program::compile(*size.divisible, constant, slot));
    const auto fixed_by = static_cast<std::size_t>(slots.at(size.fixed_by));
    out.divisors_.push_back({std::move(program), i, fixed_by});
  }
  return out;
}

int Requirements::first_broken(const Point& point) {
  slots_.assign(point.begin(), point.end());
  for (int index : types_)
    slots_.push_back(dtype_bits(static_cast<DType>(point[static_cast<std::size_t>(index)])));
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    std::int64_t value = 0;
    if (!programs_[i].evaluate(slots_, &value) || value == 0) return static_cast<int>(i);
  }
  for (std::size_t i = 0; i < divisors_.size(); ++i) {
    std::int64_t divisor = 0;
    if (!divisors_[i].program.evaluate(slots_, &divisor) || divisor < 1) continue;  // has an error
    if (slots_[divisors_[i].fixed_by] % divisor != 0) return static_cast<int>(programs_.size() + i);
  }
  return -1;
}

std::size_t Requirements::last_parameter(int index) const {
  const auto i = static_cast<std::size_t>(index);
  return i < last_.size() ? last_[i] : parameters_ - 1;
}

Requirements::Divided Requirements::divided(int index) const {
  const Divisor& divisor = divisors_[static_cast<std::size_t>(index) - programs_.size()];
  std::int64_t value = 0;
  divisor.program.evaluate(slots_, &value);
  return {divisor.size, value};
}

namespace {

// What a condition's names are worth there.
Names names_at(const Template& tmpl, const Target& target, const Point& point) {
  Constants known = constants_of(tmpl, target);
  for (std::size_t i = 0; i < tmpl.parameters().size(); ++i) {
    const Parameter& parameter = tmpl.parameters()[i];
    known[parameter.name] = point[i];
    if (parameter.type == ParameterType::type)
      known["bits:" + parameter.name] = dtype_bits(static_cast<DType>(point[i]));
  }
  return [known = std::move(known)](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

// The nearest values of the parameter itself; then those of others that take this one.
Error broken_divisor(const Template& tmpl, Requirements& requirements, int index,
                     const Point& point) {
  const auto [number, divisor] = requirements.divided(index);
  const Size& size = tmpl.sizes()[number];
  const std::vector<Parameter>& parameters = tmpl.parameters();
  const Parameter& fixed_by = *tmpl.parameter(size.fixed_by);
  const auto at = [&](const Parameter& parameter) {
    return static_cast<int>(&parameter - parameters.data());
  };
  std::string fix = Search(requirements, point, at(fixed_by), fixed_by).fix();
  for (const int other : parameters_in(tmpl, *size.divisible)) {
    const Parameter& parameter = parameters[static_cast<std::size_t>(other)];
    const std::string others = Search(requirements, point, other, parameter).fix();
    if (!others.empty()) fix += cat(fix.empty() ? "" : "; or ", others);
  }
  return {ErrorCode::constraint_violated,
          cat(tmpl.name(), ".cu:", size.line, ": ", fixed_by.name, " = ",
              point[static_cast<std::size_t>(at(fixed_by))], " is no multiple of ", divisor),
          std::move(fix)};
}

}  // namespace

Error broken_requirement(const Template& tmpl, const Target& target, Requirements& requirements,
                         int index, const Point& point) {
  if (static_cast<std::size_t>(index) >= tmpl.requirements().size())
    return broken_divisor(tmpl, requirements, index, point);
  const Requirement& requirement = tmpl.requirements()[static_cast<std::size_t>(index)];
  const auto value = requirement.condition.evaluate(names_at(tmpl, target, point));
  const std::string fix = fix_of(tmpl, requirements, requirement.condition, point);
  if (!value) return {ErrorCode::constraint_violated, value.error().what, fix};
  std::string what =
      cat(tmpl.name(), ".cu:", requirement.line, ": require ", requirement.condition.text());
  if (!requirement.reason.empty()) what += cat(" (", requirement.reason, ")");
  what += values_text(tmpl, target, requirement.condition, point);
  return {ErrorCode::constraint_violated, std::move(what), fix};
}

}  // namespace diecast
