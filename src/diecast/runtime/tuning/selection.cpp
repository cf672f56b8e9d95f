// What a runtime makes of tuning records: read once, checked against a template when it is first
// used, chosen from whenever the caller gives no tunes.
#include <diecast/base/text.h>
#include <diecast/runtime/state.h>

#include <algorithm>

namespace diecast {

void Runtime::State::ignore(std::string detail) {
  ++count.ignored;
  tell(RuntimeEvent::Kind::ignored, "", std::move(detail), 0);
}

void Runtime::State::open_tuning() {
  if (options.tuning.empty()) return;
  for (const std::string_view word : split(options.tuning, ',')) {
    const std::string path(trim(word));
    const auto bytes = read_file(*options.files, path, kTuningFileLimit);
    if (!bytes) {
      ignore(cat(bytes.error().what, "\n  fix: ", bytes.error().fix));
      continue;
    }
    TuningFile file = parse_tuning_file(file_text(*bytes));
    for (const std::string& wrong : file.wrong)
      ignore(cat(path, ": ", wrong, "\n  fix: leave it out, or measure again (`diecast tune`)"));
    add_tuning(std::move(file.records));
  }
}

void Runtime::State::add_tuning(std::vector<TuningRecord> records) {
  std::lock_guard lock(tuning_mutex);
  for (TuningRecord& record : records) {
    const std::string name = record.kernel.substr(0, record.kernel.find(' '));
    TemplateTuning& of = tuning[name];
    of.unchecked.push_back(std::move(record));
  }
  tunes_known = tunes_known || !tuning.empty();
}

std::vector<TuningRecord> Runtime::State::records_of(const Specialization& specialization,
                                                     const std::string& device) {
  const auto& tmpl = specialization.shared_tmpl();
  const std::string kernel = tuned_kernel(specialization);
  std::vector<std::string> wrong;
  std::vector<TuningRecord> out;
  {
    std::lock_guard lock(tuning_mutex);
    const auto found = tuning.find(tmpl->name());
    if (found == tuning.end()) return out;
    TemplateTuning& of = found->second;
    for (TuningRecord& record : std::exchange(of.unchecked, {})) {
      const auto checked = check_tuning_record(record, tmpl);
      if (checked) of.checked.push_back(std::move(record));
      if (!checked) wrong.push_back(cat(record.key(), ": ", checked.error().what));
    }
    of.checked = merge_tuning_records(std::move(of.checked));
    std::ranges::copy_if(of.checked, std::back_inserter(out), [&](const TuningRecord& record) {
      return record.kernel == kernel && (device.empty() || record.device == device);
    });
  }
  for (std::string& one : wrong) ignore(std::move(one));
  return out;
}

Result<Specialization> Runtime::State::specialize_tuned(const std::shared_ptr<const Template>& tmpl,
                                                        const Bindings& bindings,
                                                        const Target& target,
                                                        const Device& device) {
  DIECAST_TRY(Specialization plain, Specialization::make(tmpl, bindings, target));
  if (!tunes_known) return plain;
  const TunedChoice choice =
      choose_tunes(*tmpl, records_of(plain, device_fingerprint(device.properties())), bindings);
  Bindings with = bindings;
  for (const auto& [name, value] : choice.compiled.entries()) with.set(name, value);
  auto tuned = Specialization::make(tmpl, with, target);
  return tuned ? tuned : plain;
}

// The configuration that is compiled in is given; so is a launch tune that is not its default.
std::vector<TunedLaunch> Runtime::State::tuned_launches(const Specialization& specialization,
                                                        const Device& device) {
  TunedChoice choice;
  if (tunes_known) {
    Bindings given;
    for (const Parameter& parameter : specialization.tmpl().parameters()) {
      const Value& value = *specialization.bindings().find(parameter.name);
      if (parameter.kind == Parameter::Kind::tune &&
          (parameter.compiled() || !parameter.fallback || !(*parameter.fallback == value)))
        given.set(parameter.name, value);
    }
    choice =
        choose_tunes(specialization.tmpl(),
                     records_of(specialization, device_fingerprint(device.properties())), given);
  }
  std::lock_guard lock(tuning_mutex);
  const Template& tmpl = specialization.tmpl();
  selected[{specialization.spelling(), tunes_text(tmpl, specialization.bindings())}] =
      choice.text(tmpl);
  return std::move(choice.launches);
}

std::vector<Specialization> Runtime::tuned_variants(const Specialization& plain,
                                                    const Bindings& given) {
  std::vector<Specialization> out;
  if (!state_->tunes_known) return out;
  std::map<std::string, std::vector<TuningRecord>> by_device;
  for (TuningRecord& record : state_->records_of(plain, "")) {
    by_device[record.device].push_back(std::move(record));
  }
  for (const auto& [device, records] : by_device) {
    Bindings with = plain.bindings();
    const TunedChoice choice = choose_tunes(plain.tmpl(), records, given);
    for (const auto& [name, value] : choice.compiled.entries()) with.set(name, value);
    auto made = Specialization::make(plain.shared_tmpl(), with, plain.target());
    if (made && made->spelling() != plain.spelling()) out.push_back(*std::move(made));
  }
  return out;
}

bool Runtime::State::builds_for(Runtime& runtime, const Target& target) {
  return options.cache_policy != CachePolicy::require_hit && compiler_for(runtime, target).ok();
}

void Runtime::State::keep_held(Runtime& runtime, const Specialization& plain,
                               std::vector<TuningRecord>& records) {
  std::map<std::string, bool> known;  // by spelling
  std::erase_if(records, [&](const TuningRecord& record) {
    const auto one = check_tuning_record(record, plain.shared_tmpl());
    if (!one) return true;
    const auto [at, is_new] = known.try_emplace(one->spelling(), false);
    if (is_new) {
      const auto held = holds(runtime, *one);
      at->second = held && *held;
    }
    return !at->second;
  });
}

Result<std::vector<TunedPoint>> Runtime::tuned_points(std::string_view name,
                                                      const Bindings& bindings, Device& device) {
  if (!state_->tunes_known) return std::vector<TunedPoint>();
  DIECAST_TRY(const Specialization plain, standard_for(name, bindings, device));
  auto records = state_->records_of(plain, device_fingerprint(device.properties()));
  if (!state_->builds_for(*this, plain.target())) state_->keep_held(*this, plain, records);
  return diecast::tuned_points(plain.tmpl(), records, bindings);
}

void Runtime::add_tuning(std::vector<TuningRecord> records) {
  state_->add_tuning(std::move(records));
}

std::string Runtime::selection_digest() const {
  std::string text;
  std::lock_guard lock(state_->tuning_mutex);
  for (const auto& [kernel, launches] : state_->selected)
    text += cat(kernel.first, " ", kernel.second, launches, "\n");
  return xxh3_128(as_bytes(text)).hex();
}

}  // namespace diecast
