// Reading, checking and choosing; see tuning.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/tuning.h>
#include <diecast/template/former_names.h>

#include <algorithm>

namespace diecast {

void Tuning::ignore(std::string detail) {
  ++common_.count.ignored;
  common_.tell(RuntimeEvent::Kind::ignored, "", std::move(detail), 0);
}

void Tuning::open() {
  const RuntimeOptions& options = common_.options;
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
    add(std::move(file.records));
  }
}

void Tuning::add(std::vector<TuningRecord> records) {
  for (const TuningRecord& record : records) {
    const std::string name = record.kernel.substr(0, record.kernel.find(' '));
    if (const std::string_view now = name_now(name); !now.empty())
      ignore(cat("a record of ", name, ", which is now ", now, "\n  fix: measure ", now,
                 " (`diecast tune`)"));
  }
  std::lock_guard lock(mutex_);
  for (TuningRecord& record : records) {
    const std::string name = record.kernel.substr(0, record.kernel.find(' '));
    TemplateRecords& of = records_[name];
    of.unchecked.push_back(std::move(record));
  }
  has_records_ = has_records_ || !records_.empty();
}

std::vector<TuningRecord> Tuning::records_of(const Specialization& specialization,
                                             const std::string& device) {
  const auto& tmpl = specialization.shared_tmpl();
  const std::string kernel = tuned_kernel(specialization);
  std::vector<std::string> wrong;
  std::vector<TuningRecord> out;
  {
    std::lock_guard lock(mutex_);
    const auto found = records_.find(tmpl->name());
    if (found == records_.end()) return out;
    TemplateRecords& of = found->second;
    if (!of.unchecked.empty()) {
      for (TuningRecord& record : std::exchange(of.unchecked, {})) {
        const auto checked = check_tuning_record(record, tmpl);
        if (checked) of.checked.push_back(std::move(record));
        if (!checked) wrong.push_back(cat(record.key(), ": ", checked.error().what));
      }
      of.checked = merge_tuning_records(std::move(of.checked));
    }
    std::ranges::copy_if(of.checked, std::back_inserter(out), [&](const TuningRecord& record) {
      return record.kernel == kernel && (device.empty() || record.device == device);
    });
  }
  for (std::string& one : wrong) ignore(std::move(one));
  return out;
}

Result<Specialization> Tuning::specialize(const std::shared_ptr<const Template>& tmpl,
                                          const Bindings& bindings, const Target& target,
                                          const Device& device) {
  DIECAST_TRY(Specialization plain, Specialization::make(tmpl, bindings, target));
  if (!has_records_) return plain;
  const TunedChoice choice =
      choose_tunes(*tmpl, records_of(plain, device_fingerprint(device.properties())), bindings);
  Bindings with = bindings;
  for (const auto& [name, value] : choice.compiled.entries()) with.set(name, value);
  auto tuned = Specialization::make(tmpl, with, target);
  return tuned ? tuned : plain;
}

// The configuration that is compiled in is given; so is a launch tune that is not its default.
std::vector<TunedLaunch> Tuning::launches(const Specialization& specialization,
                                          const Device& device) {
  TunedChoice choice;
  if (has_records_) {
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
  std::lock_guard lock(mutex_);
  selected_[preloaded(specialization)] = choice.text(specialization.tmpl());
  return std::move(choice.launches);
}

Tuning::Preloaded Tuning::preloaded(const Specialization& specialization) {
  return {specialization.spelling(), tunes_text(specialization.tmpl(), specialization.bindings())};
}

std::string Tuning::chosen(const Specialization& specialization) const {
  std::lock_guard lock(mutex_);
  const auto known = selected_.find(preloaded(specialization));
  return known == selected_.end() || known->second.empty() ? "" : ";" + known->second;
}

std::map<std::string, std::vector<TuningRecord>> Tuning::records_by_device(
    const Specialization& specialization) {
  std::map<std::string, std::vector<TuningRecord>> out;
  if (!has_records_) return out;
  for (TuningRecord& record : records_of(specialization, ""))
    out[record.device].push_back(std::move(record));
  return out;
}

std::vector<Specialization> Tuning::variants(const Specialization& plain, const Bindings& given) {
  std::vector<Specialization> out;
  for (const auto& [device, records] : records_by_device(plain)) {
    Bindings with = plain.bindings();
    const TunedChoice choice = choose_tunes(plain.tmpl(), records, given);
    for (const auto& [name, value] : choice.compiled.entries()) with.set(name, value);
    auto made = Specialization::make(plain.shared_tmpl(), with, plain.target());
    if (made && made->spelling() != plain.spelling()) out.push_back(*std::move(made));
  }
  return out;
}

std::vector<Specialization> Tuning::point_variants(const Specialization& standard,
                                                   const Bindings& given) {
  std::vector<Specialization> out;
  for (const auto& [device, records] : records_by_device(standard)) {
    for (const TunedPoint& point : tuned_points(standard.tmpl(), records, given)) {
      Bindings with = standard.bindings();
      for (const auto& [name, value] : point.tunes.entries()) with.set(name, value);
      auto made = Specialization::make(standard.shared_tmpl(), with, standard.target());
      if (made) out.push_back(*std::move(made));
    }
  }
  return out;
}

std::string Tuning::digest() const {
  std::string text;
  std::lock_guard lock(mutex_);
  for (const auto& [kernel, launches] : selected_)
    text += cat(kernel.first, " ", kernel.second, launches, "\n");
  return xxh3_128(as_bytes(text)).hex();
}

}  // namespace diecast
