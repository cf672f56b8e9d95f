// Binding a template: every value checked, every requirement held, every argument as this one
// kernel takes it.
#include <diecast/base/text.h>
#include <diecast/template/former_names.h>
#include <diecast/template/requirements.h>
#include <diecast/template/specialization.h>

namespace diecast {
namespace {

// The template's name goes before what a parameter says of its value.
Error of_template(const Template& tmpl, Error error) {
  error.what = cat(tmpl.name(), ": ", error.what);
  return error;
}

Result<Bindings> complete(const Template& tmpl, const Bindings& given) {
  for (const auto& [name, value] : given.entries())
    if (tmpl.parameter(name) == nullptr) return unknown_parameter(tmpl, name);
  Bindings all;
  for (const Parameter& parameter : tmpl.parameters()) {
    if (const Value* value = given.find(parameter.name)) {
      auto checked = parameter.check(*value);
      if (!checked) return of_template(tmpl, std::move(checked).error());
      all.set(parameter.name, *std::move(checked));
    } else if (parameter.fallback) {
      all.set(parameter.name, *parameter.fallback);
    } else {
      std::string what = cat(tmpl.name(), " needs a value for ", parameter.name);
      if (!parameter.comment.empty()) what += cat(" (", parameter.comment, ")");
      return Error{ErrorCode::value_missing, std::move(what),
                   cat("give ", parameter.name, " ", parameter.allowed_text())};
    }
  }
  return all;
}

Point point_of(const Bindings& bindings) {
  Point point;
  for (const auto& [name, value] : bindings.entries()) point.push_back(value.number);
  return point;
}

DType dtype_of(const Argument& argument, const Bindings& bindings) {
  if (const auto type = parse_dtype(argument.type)) return *type;
  return static_cast<DType>(bindings.find(argument.type)->number);
}

// What the kernel may assume of a tensor's address: at least its elements' own alignment.
Result<std::int64_t> alignment_of(const Argument& argument, DType dtype, const Names& names) {
  const std::int64_t natural = dtype_bits(dtype) / 8;
  if (!argument.align) return natural;
  DIECAST_TRY(const std::int64_t align, argument.align->evaluate(names));
  if (align < 1 || align > 4096 || (align & (align - 1)) != 0)
    return Error{ErrorCode::value_not_allowed,
                 cat(argument.place.text(), ": align of ", argument.name, " is ", align),
                 "an alignment is a power of two from 1 to 4096 bytes"};
  return std::max(align, natural);
}

Result<std::int64_t> divisor_of(const Size& size, const Names& names) {
  if (!size.divisible) return std::int64_t{1};
  DIECAST_TRY(const std::int64_t divisor, size.divisible->evaluate(names));
  if (divisor >= 1) return divisor;
  return Error{ErrorCode::value_not_allowed,
               cat(size.place.text(), ": ", size.name, " is divisible by ", divisor),
               "a divisor is at least 1"};
}

std::string schema_line(const BoundArgument& argument, const std::string& type) {
  static constexpr const char* kDirections[] = {"in", "out", "inout"};
  switch (argument.kind) {
    case Argument::Kind::tensor:
      return cat("tensor ", argument.name, " ", kDirections[static_cast<int>(argument.direction)],
                 " ", dtype_name(argument.dtype), argument.stride ? " stride" : "", " align ",
                 argument.align, argument.absent ? " absent" : "");
    case Argument::Kind::size:
      if (argument.fixed) return cat("size ", argument.name, " = ", argument.fixed_value);
      return cat("size ", argument.name, argument.device ? " device" : "",
                 argument.divisible > 1 ? cat(" divisible ", argument.divisible) : "");
    case Argument::Kind::scalar:
      return cat("scalar ", argument.name, " ", dtype_name(argument.dtype));
    case Argument::Kind::structure:
      return cat("struct ", argument.name, " ", type, " ", argument.bytes);
    case Argument::Kind::tensor_map:
      break;
  }
  return cat("tensor_map ", argument.name);
}

Result<Constants> known_names(const Template& tmpl, const Bindings& bindings,
                              const Target& target) {
  Constants known = constants_of(tmpl, target);
  for (const Parameter& parameter : tmpl.parameters()) {
    if (!parameter.compiled()) continue;
    const Value& value = *bindings.find(parameter.name);
    known[parameter.name] = value.number;
    if (parameter.type == ParameterType::type)
      known["bits:" + parameter.name] = dtype_bits(static_cast<DType>(value.number));
  }
  for (const Let& let : tmpl.lets()) {
    DIECAST_TRY(const std::int64_t value, let.value.evaluate(lookup(known)));
    known[let.name] = value;
  }
  for (const Size& size : tmpl.sizes()) {
    if (size.fixed_by.empty()) continue;
    if (const std::int64_t value = known[size.fixed_by]; value != 0) known[size.name] = value;
  }
  return known;
}

Result<void> check_target(const Template& tmpl, const Target& target) {
  if (tmpl.supports(target)) return {};
  return Error{ErrorCode::target_not_supported,
               cat(tmpl.name(), " does not support ", target.name()),
               cat("its targets are ", tmpl.targets_text())};
}

}  // namespace

Error unknown_parameter(const Template& tmpl, std::string_view name) {
  if (const std::string_view now = parameter_now(tmpl.name(), name); tmpl.parameter(now) != nullptr)
    return {ErrorCode::unknown_parameter,
            cat("the parameter ", name, " of ", tmpl.name(), " is now ", now),
            cat("write ", now, " in its place")};
  std::vector<std::string> names;
  for (const Parameter& parameter : tmpl.parameters()) names.push_back(parameter.name);
  return {ErrorCode::unknown_parameter,
          cat(tmpl.name(), " has no parameter ", quote(name, 40), did_you_mean(name, names)),
          names.empty() ? "it has no parameters at all"
                        : cat("its parameters are ", join(names, ", "))};
}

Result<Specialization> Specialization::make(std::shared_ptr<const Template> tmpl,
                                            const Bindings& bindings, const Target& target) {
  DIECAST_CHECK(check_target(*tmpl, target));
  DIECAST_TRY(Requirements requirements, Requirements::compile(*tmpl, target));
  return make(std::move(tmpl), bindings, target, requirements);
}

Result<Specialization> Specialization::make(std::shared_ptr<const Template> tmpl,
                                            const Bindings& bindings, const Target& target,
                                            Requirements& requirements) {
  DIECAST_CHECK(check_target(*tmpl, target));
  Specialization out;
  DIECAST_TRY(out.bindings_, complete(*tmpl, bindings));
  const Point point = point_of(out.bindings_);
  if (const int broken = requirements.first_broken(point); broken >= 0)
    return broken_requirement(*tmpl, target, requirements, broken, point);
  out.template_ = std::move(tmpl);
  out.target_ = target;
  DIECAST_TRY(Constants known, known_names(*out.template_, out.bindings_, target));
  out.known_ = std::make_shared<Constants>(std::move(known));
  DIECAST_CHECK(out.bind_arguments());
  return out;
}

Result<bool> Specialization::keeps(const Template& tmpl, const Bindings& bindings,
                                   Requirements& requirements) {
  DIECAST_TRY(const Bindings all, complete(tmpl, bindings));
  return requirements.first_broken(point_of(all)) < 0;
}

Result<void> Specialization::bind_arguments() {
  for (const Argument& argument : template_->arguments()) {
    BoundArgument bound;
    bound.kind = argument.kind;
    bound.direction = argument.direction;
    bound.name = argument.name;
    bound.bytes = argument.bytes;
    bound.shape = argument.shape;
    if (argument.kind == Argument::Kind::tensor || argument.kind == Argument::Kind::scalar)
      bound.dtype = dtype_of(argument, bindings_);
    if (argument.kind == Argument::Kind::tensor) {
      bound.absent = !argument.optional.empty() && number(argument.optional) == 0;
      DIECAST_TRY(bound.align, alignment_of(argument, bound.dtype, names()));
      if (argument.stride) {
        DIECAST_TRY(const std::int64_t apart, argument.stride->evaluate(names()));
        bound.stride = apart != 0;
      }
    }
    if (argument.kind == Argument::Kind::size) {
      const Size& size = *template_->size(argument.name);
      bound.device = size.device;
      const auto fixed = known_->find(argument.name);
      bound.fixed = fixed != known_->end();
      if (bound.fixed) bound.fixed_value = fixed->second;
      DIECAST_TRY(bound.divisible, divisor_of(size, names()));
    }
    if (!schema_.empty()) schema_ += '\n';
    schema_ += schema_line(bound, argument.type);
    arguments_.push_back(std::move(bound));
  }
  return {};
}

std::int64_t Specialization::number(std::string_view parameter) const {
  return bindings_.find(parameter)->number;
}

std::string Specialization::spelling() const {
  std::string text = template_->name();
  for (const Parameter& parameter : template_->parameters())
    if (parameter.compiled())
      text += cat(" ", parameter.name, "=", bindings_.find(parameter.name)->spelling());
  return cat(text, " @ ", target_.name());
}

Names Specialization::names() const {
  return [known = known_](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = known->find(name);
    return found == known->end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace diecast
