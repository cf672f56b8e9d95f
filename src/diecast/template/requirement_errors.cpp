// What a broken requirement is told by: its line, the values, the nearest ones that fit.
#include <diecast/base/text.h>
#include <diecast/template/requirements.h>

#include <algorithm>
#include <bit>

namespace diecast {
namespace {

std::string shown(const Parameter& parameter, std::int64_t number) {
  if (parameter.type == ParameterType::integer || parameter.type == ParameterType::boolean)
    return cat(number);
  if (parameter.type == ParameterType::real)
    return Value::real(std::bit_cast<float>(static_cast<std::int32_t>(number))).word;
  for (const Value& value : parameter.allowed)
    if (value.number == number) return value.word;
  return cat(number);
}

// What an expression's names are worth there, lets that have no value left out.
Constants known_at(const Template& tmpl, const Target& target, const Point& point) {
  Constants known = constants_of(tmpl, target);
  for (std::size_t i = 0; i < tmpl.parameters().size(); ++i) {
    const Parameter& parameter = tmpl.parameters()[i];
    known[parameter.name] = point[i];
    if (parameter.type == ParameterType::type)
      known["bits:" + parameter.name] = dtype_bits(static_cast<DType>(point[i]));
  }
  for (const Let& let : tmpl.lets())
    if (const auto value = let.value.evaluate(lookup(known))) known[let.name] = *value;
  return known;
}

std::string values_text(const Template& tmpl, const Target& target, const Expression& condition,
                        const Point& point) {
  std::string text;
  const Named named = named_in(tmpl, condition);
  const Constants known = known_at(tmpl, target, point);
  for (int index : named.lets) {
    const Let& let = tmpl.lets()[static_cast<std::size_t>(index)];
    const Parameter* const set = tmpl.parameter(let.set);
    if (const auto value = known.find(let.name); value != known.end())
      text += cat("\n", let.name, " = ",
                  set != nullptr ? shown(*set, value->second) : cat(value->second));
  }
  for (int index : named.parameters) {
    const auto i = static_cast<std::size_t>(index);
    text += cat("\n", tmpl.parameters()[i].name, " = ", shown(tmpl.parameters()[i], point[i]));
  }
  if (named.host) text += cat("\nhost = ", target.is_host() ? 1 : 0);
  if (named.cc) text += cat("\ncc = ", target.cc);
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
  const Named named = named_in(tmpl, condition);
  std::vector<int> involved = named.parameters;
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
  if (names.empty())
    return named.host || named.cc ? "choose another target" : "it never holds: correct that line";
  if (names.size() == 1)
    return cat("no ", names[0], " near it fits: choose one so that ", condition.text(),
               ", or correct that line");
  return cat("no single change fits: choose ", join(names, " and "), " together so that ",
             condition.text());
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
  for (const int other : named_in(tmpl, *size.divisible).parameters) {
    const Parameter& parameter = parameters[static_cast<std::size_t>(other)];
    const std::string others = Search(requirements, point, other, parameter).fix();
    if (!others.empty()) fix += cat(fix.empty() ? "" : "; or ", others);
  }
  return {ErrorCode::constraint_violated,
          cat(size.place.text(), ": ", fixed_by.name, " = ",
              point[static_cast<std::size_t>(at(fixed_by))], " is no multiple of ", divisor),
          std::move(fix)};
}

}  // namespace

Error broken_requirement(const Template& tmpl, const Target& target, Requirements& requirements,
                         int index, const Point& point) {
  const Constants known = known_at(tmpl, target, point);
  if (requirements.is_let(index)) {
    const Expression& let = tmpl.lets()[requirements.let(index)].value;
    return {ErrorCode::constraint_violated, let.evaluate(lookup(known)).error().what,
            fix_of(tmpl, requirements, let, point)};
  }
  if (static_cast<std::size_t>(index) >= tmpl.requirements().size())
    return broken_divisor(tmpl, requirements, index, point);
  const Requirement& requirement = tmpl.requirements()[static_cast<std::size_t>(index)];
  const auto value = requirement.condition.evaluate(lookup(known));
  const std::string fix = fix_of(tmpl, requirements, requirement.condition, point);
  if (!value) return {ErrorCode::constraint_violated, value.error().what, fix};
  std::string what = cat(requirement.place.text(), ": require ", requirement.condition.text());
  if (!requirement.reason.empty()) what += cat(" (", requirement.reason, ")");
  what += values_text(tmpl, target, requirement.condition, point);
  return {ErrorCode::constraint_violated, std::move(what), fix};
}

}  // namespace diecast
