// Defaults, or what stands in for them; see standard.h.
#include <diecast/runtime/tuning/standard.h>

#include <utility>

namespace diecast {

Result<Specialization> standard_configuration(std::shared_ptr<const Template> tmpl,
                                              const Bindings& bindings, const Bindings& held,
                                              const Target& target) {
  Bindings given, with_defaults;
  for (const Parameter& parameter : tmpl->parameters()) {
    const bool tune = parameter.kind == Parameter::Kind::tune;
    if (const Value* value = (tune ? held : bindings).find(parameter.name)) {
      given.set(parameter.name, *value), with_defaults.set(parameter.name, *value);
    } else if (tune && parameter.fallback) {
      with_defaults.set(parameter.name, *parameter.fallback);
    }
  }
  auto made = Specialization::make(tmpl, with_defaults, target);
  if (made || made.error().code != ErrorCode::constraint_violated) return made;
  const auto space = tmpl->space(target, given);
  if (!space || space->empty()) return made;
  return Specialization::make(std::move(tmpl), space->front(), target);
}

}  // namespace diecast
