// Requirements compiled; see requirements.h.
#include <diecast/base/text.h>
#include <diecast/template/requirements.h>

#include <algorithm>

namespace diecast {
namespace {

template <class Part>
bool add_index(const std::vector<Part>& parts, const Part* part, std::vector<int>& found) {
  const auto index = static_cast<int>(part - parts.data());
  const bool fresh = std::ranges::find(found, index) == found.end();
  if (fresh) found.push_back(index);
  return fresh;
}

// Ends: a let names only those above it, and each is gone into once.
void add_names(const Template& tmpl, const Expression& expression, Named& out) {
  for (const auto* names : {&expression.names(), &expression.types()}) {
    for (const Expression::Name& name : *names) {
      out.host |= name.name == "host";
      out.cc |= name.name == "cc";
      if (const Parameter* parameter = tmpl.parameter(name.name))
        add_index(tmpl.parameters(), parameter, out.parameters);
      if (const Let* let = tmpl.let(name.name))
        if (add_index(tmpl.lets(), let, out.lets)) add_names(tmpl, let->value, out);
    }
  }
}

}  // namespace

Named named_in(const Template& tmpl, const Expression& condition) {
  Named out;
  add_names(tmpl, condition, out);
  return out;
}

Names lookup(const Constants& constants) {
  return [&constants](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = constants.find(name);
    return found == constants.end() ? std::nullopt : std::optional(found->second);
  };
}

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
  for (const Let& let : tmpl.lets()) slots.emplace(let.name, static_cast<int>(slots.size()));
  const Names constant = lookup(constants);
  const auto slot = [&](std::string_view name) -> std::optional<int> {
    const auto found = slots.find(name);
    return found == slots.end() ? std::nullopt : std::optional(found->second);
  };
  for (const Let& let : tmpl.lets()) {
    DIECAST_TRY(Program program, Program::compile(let.value, constant, slot));
    out.lets_.push_back(std::move(program));
  }
  for (const Requirement& requirement : tmpl.requirements()) {
    DIECAST_TRY(Program program, Program::compile(requirement.condition, constant, slot));
    out.programs_.push_back(std::move(program));
    const Named named = named_in(tmpl, requirement.condition);
    const auto most = [](const std::vector<int>& of, int none) {
      return static_cast<std::size_t>(of.empty() ? none : *std::ranges::max_element(of));
    };
    out.last_.push_back(most(named.parameters, 0));
    out.needed_lets_.push_back(most(named.lets, -1) + 1);
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
  known_lets_ = 0;
  slots_.resize(slots_.size() + lets_.size());
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (const int broken = evaluate_lets(needed_lets_[i]); broken >= 0) return broken;
    std::int64_t value = 0;
    if (!programs_[i].evaluate(slots_, &value) || value == 0) return static_cast<int>(i);
  }
  if (const int broken = evaluate_lets(lets_.size()); broken >= 0) return broken;
  for (std::size_t i = 0; i < divisors_.size(); ++i) {
    std::int64_t divisor = 0;
    if (!divisors_[i].program.evaluate(slots_, &divisor) || divisor < 1) continue;  // has an error
    if (slots_[divisors_[i].fixed_by] % divisor != 0) return static_cast<int>(programs_.size() + i);
  }
  return -1;
}

// Those of the first `count` that are not known yet. The index of one without a value, or -1.
int Requirements::evaluate_lets(std::size_t count) {
  for (; known_lets_ < count; ++known_lets_) {
    std::int64_t& value = slots_[slots_.size() - lets_.size() + known_lets_];
    if (!lets_[known_lets_].evaluate(slots_, &value))
      return static_cast<int>(programs_.size() + divisors_.size() + known_lets_);
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

}  // namespace diecast
