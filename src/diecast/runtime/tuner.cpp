// Measuring configurations; see tuner.h. With RuntimeOptions::isolated each runs in a process of
// its own: one that hangs or takes the context with it costs that process.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/runtime/state.h>
#include <diecast/runtime/tuner.h>
#include <diecast/runtime/tuning/trial.h>

#include <algorithm>

namespace diecast {
namespace {

using Outcome = TuningRecord::Outcome;

// The bindings with tunes as the request holds them, else at their defaults.
Bindings with_default_tunes(const Template& tmpl, const Bindings& bindings, const Bindings& held) {
  Bindings out;
  for (const Parameter& parameter : tmpl.parameters()) {
    const bool tune = parameter.kind == Parameter::Kind::tune;
    const Value* value = (tune ? held : bindings).find(parameter.name);
    if (value != nullptr) out.set(parameter.name, *value);
    if (value == nullptr && tune && parameter.fallback)
      out.set(parameter.name, *parameter.fallback);
  }
  return out;
}

Bindings launch_tunes(const Specialization& specialization) {
  Bindings out;
  for (const Parameter& parameter : specialization.tmpl().parameters())
    if (!parameter.compiled())
      out.set(parameter.name, *specialization.bindings().find(parameter.name));
  return out;
}

TuningRecord record_of(const Specialization& specialization, const RunSizes& sizes,
                       const DeviceProperties& device) {
  TuningRecord out;
  out.kernel = tuned_kernel(specialization);
  out.device = device_fingerprint(device);
  out.sizes = sizes;
  out.tunes = tunes_text(specialization.tmpl(), specialization.bindings());
  return out;
}

// What a configuration writes.
Result<std::vector<Digest>> outputs_of(const Kernel& kernel, const Trial& trial,
                                       const LaunchTunes& tunes) {
  DIECAST_CHECK(trial.reset());
  DIECAST_CHECK(kernel.launch(trial.arguments(), {}, tunes));
  DIECAST_CHECK(kernel.device().synchronize({}));
  return trial.outputs();
}

// The outcome of one configuration beside the default's `wanted`.
Outcome measure(Runtime& runtime, const Specialization& specialization, const Trial& trial,
                const std::vector<Digest>& wanted, const std::shared_ptr<Device>& device,
                const TuneRequest& request, TuningRecord& out) {
  const auto kernel = runtime.preload(specialization, device);
  if (!kernel) return Outcome::failed;
  const Bindings of_launch = launch_tunes(specialization);
  const auto tunes = (*kernel)->tunes(of_launch);
  if (!tunes) return Outcome::failed;
  const auto shape = (*kernel)->shape(trial.arguments(), of_launch);
  if (!shape) return Outcome::illegal;
  const auto outputs = outputs_of(**kernel, trial, *tunes);
  if (!outputs) return Outcome::failed;
  if (*outputs != wanted) return Outcome::differs;
  if (request.check && !request.check({specialization, *device, trial.arguments()}))
    return Outcome::differs;
  const auto time = time_launch(**kernel, trial.arguments(), *tunes, request.samples);
  if (!time) return Outcome::failed;
  out.ns = time->ns;
  out.spread = time->spread;
  out.samples = time->samples;
  return Outcome::timed;
}

// One configuration in a process of its own.
Result<TuningRecord> measure_isolated(const RuntimeOptions& options,
                                      const Specialization& specialization, const RunSizes& sizes,
                                      const DeviceProperties& device, const TuneRequest& request) {
  TuningRecord out = record_of(specialization, sizes, device);
  std::string spelling = out.kernel;  // with every tune, those of the launch too
  if (!out.tunes.empty()) spelling.insert(spelling.find(" @ "), cat(" ", out.tunes));
  ProcessRequest process;
  process.arguments = {options.isolated.program, std::string(kTuneCommand), spelling, "--samples",
                       cat(request.samples)};
  for (const auto& [name, value] : sizes) {
    process.arguments.push_back("--size");
    process.arguments.push_back(cat(name, "=", value));
  }
  process.arguments.insert(process.arguments.end(), request.arguments.begin(),
                           request.arguments.end());
  process.time_limit = options.isolated.time;
  const auto ended = run_process(process);
  if (!ended && ended.error().code != ErrorCode::timed_out) return ended.error();
  out.outcome = !ended ? Outcome::hung : Outcome::crashed;
  if (ended && ended->exit_code == 1) {  // the default did not run either
    return Error{ErrorCode::process_failed,
                 cat("measuring ", spelling, " failed: ", trim(ended->errors)),
                 "`diecast tune --in-process` says it without a process between"};
  }
  if (!ended || ended->exit_code != 0) return out;
  DIECAST_TRY(const TuningRecord told, parse_tuning_record(trim(ended->output)));
  if (told.key() == out.key()) return told;
  return Error{ErrorCode::internal, cat("asked to measure ", out.key(), ", measured ", told.key()),
               "please report it with the command or call that led here"};
}

// Every configuration of the tune space that the requirements allow, the default first.
Result<std::vector<Specialization>> configurations(const Specialization& plain,
                                                   const Bindings& held) {
  const Template& tmpl = plain.tmpl();
  Bindings fixed;
  for (const Parameter& parameter : tmpl.parameters()) {
    const bool free = parameter.kind == Parameter::Kind::tune && !held.find(parameter.name);
    if (!free) fixed.set(parameter.name, *plain.bindings().find(parameter.name));
  }
  DIECAST_TRY(std::vector<Bindings> all, tmpl.space(plain.target(), fixed));
  for (const Parameter& parameter : tmpl.parameters()) {
    if (parameter.compiled() || fixed.find(parameter.name)) continue;
    std::vector<Bindings> more;
    for (const Bindings& one : all) {
      for (const Value& value : parameter.allowed)
        more.push_back(Bindings(one).set(parameter.name, value));
    }
    all = std::move(more);
  }
  std::vector<Specialization> out = {plain};
  for (const Bindings& one : all) {
    DIECAST_TRY(Specialization made,
                Specialization::make(plain.shared_tmpl(), one, plain.target()));
    if (!(made.bindings() == plain.bindings())) out.push_back(std::move(made));
  }
  return out;
}

Result<void> check_sizes(const Specialization& specialization, const RunSizes& sizes) {
  std::vector<std::string> names;
  for (const auto& [name, value] : sizes) names.push_back(name);
  const std::vector<std::string> wanted = free_sizes(specialization);
  if (names == wanted) return {};
  return Error{ErrorCode::value_missing,
               cat(tuned_kernel(specialization), " is tuned for sizes of (", join(wanted, ", "),
                   "), given (", join(names, ", "), ")"),
               "give each once, in this order"};
}

}  // namespace

Result<TuningRecord> tune_one(Runtime& runtime, const Specialization& specialization,
                              const RunSizes& sizes, const std::shared_ptr<Device>& device,
                              const TuneRequest& request) {
  DIECAST_CHECK(check_sizes(specialization, sizes));
  const Template& tmpl = specialization.tmpl();
  const Bindings defaults = with_default_tunes(tmpl, specialization.bindings(), request.bindings);
  DIECAST_TRY(const Specialization plain, Specialization::make(specialization.shared_tmpl(),
                                                               defaults, specialization.target()));
  DIECAST_TRY(const Trial trial, Trial::make(plain, device, sizes));
  DIECAST_TRY(const auto kernel, runtime.preload(plain, device));
  DIECAST_TRY(const LaunchTunes tunes, kernel->tunes(launch_tunes(plain)));
  DIECAST_TRY(const auto wanted, outputs_of(*kernel, trial, tunes));
  TuningRecord out = record_of(specialization, sizes, device->properties());
  out.outcome = measure(runtime, specialization, trial, wanted, device, request, out);
  return out;
}

Result<std::vector<TuningRecord>> Runtime::tune(const TuneRequest& request,
                                                const std::shared_ptr<Device>& device) {
  DIECAST_CHECK(check_device(device));
  DIECAST_TRY(const auto found, find_template(request.name));
  const Bindings defaults = with_default_tunes(*found, request.bindings, request.bindings);
  DIECAST_TRY(const Specialization plain, specialize_for(request.name, defaults, *device));
  DIECAST_TRY(const auto candidates, configurations(plain, request.bindings));
  const bool isolated = !state_->options.isolated.program.empty() && !request.check &&
                        device->properties().ordinal == 0;
  std::vector<TuningRecord> out(request.known.begin(), request.known.end());
  for (const RunSizes& sizes : request.sizes) {
    DIECAST_CHECK(check_sizes(plain, sizes));
    for (const Specialization& one : candidates) {
      const std::string key = record_of(one, sizes, device->properties()).key();
      if (std::ranges::find(request.known, key, &TuningRecord::key) != request.known.end())
        continue;
      DIECAST_TRY(out.emplace_back(), isolated ? measure_isolated(state_->options, one, sizes,
                                                                  device->properties(), request)
                                               : tune_one(*this, one, sizes, device, request));
      if (request.on_record) request.on_record(out.back());
    }
  }
  return merge_tuning_records(std::move(out));
}

}  // namespace diecast
