// From a template's name to a specialization: by spelling, by target, or for a device.
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>
#include <diecast/runtime/tuning/standard.h>

#include <algorithm>
#include <map>
#include <optional>

namespace diecast {
namespace {

// Leaves the records whose kernel is in memory or in the cache.
void keep_held(Artifacts& artifacts, const Specialization& plain,
               std::vector<TuningRecord>& records) {
  std::map<std::string, bool> known;  // by spelling
  std::erase_if(records, [&](const TuningRecord& record) {
    const auto one = check_tuning_record(record, plain.shared_tmpl());
    if (!one) return true;
    const auto [at, is_new] = known.try_emplace(one->spelling(), false);
    if (is_new) {
      const auto held = artifacts.holds(*one);
      at->second = held && *held;
    }
    return !at->second;
  });
}

}  // namespace

Result<Specialization> Runtime::specialize(std::string_view name, const Bindings& bindings,
                                           const Target& target) {
  DIECAST_TRY(auto found, find_template(name));
  return Specialization::make(std::move(found), bindings, target);
}

Result<Specialization> Runtime::specialize(std::string_view spelling) {
  DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
  if (parsed.targets.size() != 1) {
    return Error{
        ErrorCode::value_missing,
        cat("a specialization has one target, ", quote(spelling), " has ", parsed.targets.size()),
        "end it in `@ TARGET`, for example `@ sm_90a`"};
  }
  DIECAST_TRY(const Target target, Target::parse(parsed.targets[0]));
  DIECAST_TRY(const Bindings bindings, bindings_of(parsed));
  return specialize(parsed.name, bindings, target);
}

// Where nothing can be compiled for a target, the cache decides whether it will do.
Result<Specialization> Runtime::specialize_for(std::string_view name, const Bindings& bindings,
                                               Device& device) {
  DIECAST_TRY(auto found, find_template(name));
  std::optional<Specialization> best;
  std::optional<Error> refused;
  for (const Target& target : device.targets()) {
    if (!found->supports(target)) continue;
    DIECAST_TRY(Specialization one, state_->tuning.specialize(found, bindings, target, device));
    const auto compiler = state_->compilers.usable(target);
    if (compiler) return one;
    DIECAST_TRY(const bool held, state_->artifacts.holds(one));
    if (held) return one;
    if (compiler.error().code == ErrorCode::target_not_supported) refused = compiler.error();
    if (!best) best = std::move(one);
  }
  if (refused) return *refused;
  if (best) return *best;  // resolve() says what is missing
  return Error{ErrorCode::target_not_supported,
               cat("template ", found->name(), " has no target for ", device.properties().name),
               cat("`diecast show ", found->name(), "` lists its targets")};
}

Result<Specialization> Runtime::specialize_for(std::string_view spelling, Device& device) {
  DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
  if (!parsed.targets.empty()) {
    return Error{ErrorCode::invalid_argument, cat(quote(spelling), " names a target"),
                 "leave `@` and what follows out: the device has the target"};
  }
  DIECAST_TRY(const Bindings bindings, bindings_of(parsed));
  return specialize_for(parsed.name, bindings, device);
}

Result<Specialization> Runtime::standard_for(std::string_view name, const Bindings& bindings,
                                             Device& device) {
  DIECAST_TRY(const auto found, find_template(name));
  Bindings all = bindings;
  for (const Target& target : device.targets()) {
    if (!found->supports(target)) continue;
    DIECAST_TRY(const auto standard, standard_configuration(found, bindings, bindings, target));
    all = standard.bindings();
    break;
  }
  return specialize_for(name, all, device);
}

Result<std::vector<TunedPoint>> Runtime::tuned_points(std::string_view name,
                                                      const Bindings& bindings, Device& device) {
  if (!state_->tuning.has_records()) return std::vector<TunedPoint>();
  DIECAST_TRY(const Specialization plain, standard_for(name, bindings, device));
  auto records = state_->tuning.records_of(plain, device_fingerprint(device.properties()));
  if (!state_->compilers.builds_for(plain.target())) keep_held(state_->artifacts, plain, records);
  return diecast::tuned_points(plain.tmpl(), records, bindings);
}

Result<std::vector<Specialization>> Runtime::tuned_point_variants(std::string_view name,
                                                                  const Bindings& bindings,
                                                                  const Target& target) {
  if (!state_->tuning.has_records()) return std::vector<Specialization>();
  DIECAST_TRY(const auto found, find_template(name));
  DIECAST_TRY(const auto standard, standard_configuration(found, bindings, bindings, target));
  return state_->tuning.point_variants(standard, bindings);
}

}  // namespace diecast
