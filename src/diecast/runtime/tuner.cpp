// Measuring configurations; see tuner.h. With RuntimeOptions::isolated each runs in a process of
// its own: one that hangs or takes the context with it costs that process.
#include <diecast/base/text.h>
#include <diecast/runtime/state.h>
#include <diecast/runtime/tuner.h>
#include <diecast/runtime/tuning/approx.h>
#include <diecast/runtime/tuning/isolated_trial.h>
#include <diecast/runtime/tuning/standard.h>
#include <diecast/runtime/tuning/trial.h>

#include <algorithm>

namespace diecast {
namespace {

using Outcome = TuningRecord::Outcome;

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

// What a configuration writes: the tensors of each draw, draw 0 last, whose inputs and outputs
// stay.
Result<std::vector<Digest>> outputs_of(const Kernel& kernel, Trial& trial,
                                       const LaunchTunes& tunes) {
  std::vector<Digest> out;
  for (std::uint64_t draw = trial.draws(); draw-- > 0;) {
    DIECAST_CHECK(trial.draw(draw));
    DIECAST_CHECK(trial.reset());
    DIECAST_CHECK(kernel.launch(trial.arguments(), {}, tunes));
    DIECAST_CHECK(kernel.device().synchronize({}));
    DIECAST_TRY(const auto outputs, trial.outputs());
    out.insert(out.end(), outputs.begin(), outputs.end());
  }
  return out;
}

Outcome untimed(TuningRecord& out, Outcome outcome, std::string why) {
  out.why = std::move(why);
  return outcome;
}

std::string reason_of(const Error& error) { return cat(error.what, "\n  fix: ", error.fix); }

using Preload = std::function<Result<std::shared_ptr<Kernel>>(const Specialization&)>;

// What configurations are measured with.
struct Bench {
  const Preload& preload;
  const std::shared_ptr<Device>& device;
  const TuneRequest& request;
};

// What others are held against.
struct Standard {
  Trial trial;
  Bindings approx;  // its values of approx tunes
  std::vector<Digest> outputs;
  std::vector<Bytes> bytes;  // of the outputs, where a tune is approx
};

// The tensors that a kernel writes, in the order of the outputs.
std::vector<const BoundArgument*> written(const Specialization& specialization) {
  std::vector<const BoundArgument*> out;
  for (const BoundArgument& argument : specialization.arguments())
    if (argument.kind == Argument::Kind::tensor && argument.direction != Argument::Direction::in &&
        !argument.absent)
      out.push_back(&argument);
  return out;
}

// Of other values of approx tunes: what the configuration writes that has them and is the default
// else. It is near the standard, and a configuration of these values is equal to it. Errors:
// constraint_violated for what is not near.
Result<std::vector<Digest>> outputs_near(const Bench& bench, const Specialization& specialization,
                                         const Bindings& approx, Standard& standard) {
  Bindings held = bench.request.bindings;
  for (const auto& [name, value] : approx.entries()) held.set(name, value);
  DIECAST_TRY(const Specialization like,
              standard_configuration(specialization.shared_tmpl(), specialization.bindings(), held,
                                     specialization.target()));
  DIECAST_TRY(const auto kernel, bench.preload(like));
  DIECAST_TRY(const LaunchTunes tunes, kernel->tunes(launch_tunes(like)));
  DIECAST_TRY(auto outputs, outputs_of(*kernel, standard.trial, tunes));
  DIECAST_TRY(const auto bytes, standard.trial.output_bytes());
  const auto tensors = written(like);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (const auto wrong = beyond_approx(*tensors[i], bytes[i], standard.bytes[i]))
      return Error{ErrorCode::constraint_violated, cat("beyond what `approx` allows: ", *wrong),
                   "correct the kernel, or make the tune an `option`"};
  return outputs;
}

// Of the tensors that it writes, the first whose bytes are others than the default's.
std::string which_differs(const Specialization& specialization, const std::vector<Digest>& outputs,
                          const std::vector<Digest>& wanted) {
  const auto tensors = written(specialization);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != wanted[i])
      return cat(
          "other bytes of ", tensors[i % tensors.size()]->name,
          " than the default configuration's\n  fix: make a tune that changes results an "
          "`option`; or, where it only rounds sums in another order, end its line in `approx`");
  return {};
}

// The outcome of one configuration beside the default one.
Outcome measure(const Bench& bench, const Specialization& specialization, Standard& standard,
                TuningRecord& out) {
  const TuneRequest& request = bench.request;
  Trial& trial = standard.trial;
  const auto kernel = bench.preload(specialization);
  if (!kernel) return untimed(out, Outcome::failed, reason_of(kernel.error()));
  const Bindings of_launch = launch_tunes(specialization);
  const auto tunes = (*kernel)->tunes(of_launch);
  if (!tunes) return untimed(out, Outcome::failed, reason_of(tunes.error()));
  const auto shape = (*kernel)->shape(trial.arguments(), of_launch);
  if (!shape) return untimed(out, Outcome::illegal, reason_of(shape.error()));
  std::vector<Digest> wanted = standard.outputs;
  const Bindings approx = approx_tunes(specialization.tmpl(), specialization.bindings());
  if (!(approx == standard.approx)) {
    auto near = outputs_near(bench, specialization, approx, standard);
    if (!near) return untimed(out, Outcome::differs, reason_of(near.error()));
    wanted = *std::move(near);
  }
  const auto outputs = outputs_of(**kernel, trial, *tunes);
  if (!outputs) return untimed(out, Outcome::failed, reason_of(outputs.error()));
  if (*outputs != wanted)
    return untimed(out, Outcome::differs, which_differs(specialization, *outputs, wanted));
  if (request.check) {
    const auto checked = request.check({specialization, *bench.device, trial.arguments()});
    if (!checked) return untimed(out, Outcome::differs, reason_of(checked.error()));
  }
  const auto time = time_launch(**kernel, trial.arguments(), *tunes, request.samples);
  if (!time) return untimed(out, Outcome::failed, reason_of(time.error()));
  out.ns = time->ns;
  out.spread = time->spread;
  out.samples = time->samples;
  return Outcome::timed;
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
    if (parameter.allowed.empty()) continue;  // any integer: its default
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

// Memory of this process means nothing to another.
bool for_other_processes(const GivenArguments& given) {
  return std::ranges::all_of(given,
                             [](const auto& one) { return scalar_text(one.second).has_value(); });
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

Result<void> check_launches(const Kernel& kernel, const Trial& trial, const RunSizes& sizes) {
  DIECAST_TRY(const LaunchShape shape, kernel.shape(trial.arguments()));
  if (std::ranges::find(shape.grid, 0u) == std::end(shape.grid)) return {};
  return Error{
      ErrorCode::invalid_argument,
      cat(tuned_kernel(kernel.specialization()), " launches nothing", sizes.empty() ? "" : " at ",
          run_sizes_text(sizes), ": there is no time to measure"),
      "give sizes of 1 or more"};
}

// Runs the default configuration.
Result<Standard> run_standard(const Bench& bench, const Specialization& plain,
                              const RunSizes& sizes) {
  DIECAST_TRY(Trial trial, Trial::make(plain, bench.device, sizes, bench.request.given));
  DIECAST_TRY(const auto kernel, bench.preload(plain));
  DIECAST_CHECK(check_launches(*kernel, trial, sizes));
  DIECAST_TRY(const LaunchTunes tunes, kernel->tunes(launch_tunes(plain)));
  DIECAST_TRY(auto outputs, outputs_of(*kernel, trial, tunes));
  Bindings approx = approx_tunes(plain.tmpl(), plain.bindings());
  std::vector<Bytes> bytes;
  if (!approx.entries().empty()) {
    DIECAST_TRY(bytes, trial.output_bytes());
  }
  return Standard{std::move(trial), std::move(approx), std::move(outputs), std::move(bytes)};
}

TuningRecord measured(const Bench& bench, const Specialization& specialization,
                      const RunSizes& sizes, Standard& standard) {
  TuningRecord out = record_of(specialization, sizes, bench.device->properties());
  out.outcome = measure(bench, specialization, standard, out);
  return out;
}

}  // namespace

Result<TuningRecord> tune_one(Runtime& runtime, const Specialization& specialization,
                              const RunSizes& sizes, const std::shared_ptr<Device>& device,
                              const TuneRequest& request) {
  DIECAST_CHECK(check_sizes(specialization, sizes));
  DIECAST_TRY(const Specialization plain,
              standard_configuration(specialization.shared_tmpl(), specialization.bindings(),
                                     request.bindings, specialization.target()));
  const Preload preload = [&](const Specialization& one) { return runtime.preload(one, device); };
  const Bench bench{preload, device, request};
  DIECAST_TRY(Standard standard, run_standard(bench, plain, sizes));
  return measured(bench, specialization, sizes, standard);
}

Result<std::vector<TuningRecord>> Runtime::tune(const TuneRequest& request,
                                                const std::shared_ptr<Device>& device) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_samples(request.samples));
  DIECAST_TRY(const auto found, find_template(request.name));
  DIECAST_TRY(const Specialization plain, standard_for(request.name, request.bindings, *device));
  DIECAST_TRY(const auto candidates, configurations(plain, request.bindings));
  DIECAST_CHECK(check_given(*found, request.given));
  const RuntimeOptions& options = state_->common.options;
  const bool isolated = !options.isolated.program.empty() && !request.check &&
                        for_other_processes(request.given) && device->properties().ordinal == 0;
  const Preload preload = [&](const Specialization& one) {
    return state_->kernels.preload(one, device);
  };
  const Bench bench{preload, device, request};
  std::vector<TuningRecord> out(request.known.begin(), request.known.end());
  for (const RunSizes& sizes : request.sizes) {
    DIECAST_CHECK(check_sizes(plain, sizes));
    std::optional<Standard> standard;
    for (const Specialization& one : candidates) {
      const TuningRecord asked = record_of(one, sizes, device->properties());
      if (std::ranges::find(request.known, asked.key(), &TuningRecord::key) != request.known.end())
        continue;
      if (isolated) {
        DIECAST_TRY(out.emplace_back(),
                    measure_isolated(state_->compilers, options, asked, one.target(),
                                     device->properties(), request));
      } else {
        if (!standard) {
          DIECAST_TRY(standard, run_standard(bench, plain, sizes));
        }
        out.push_back(measured(bench, one, sizes, *standard));
      }
      if (request.on_record) DIECAST_CHECK(request.on_record(out.back()));
    }
  }
  return merge_tuning_records(std::move(out));
}

}  // namespace diecast
