// Asking another process for one measurement; see isolated_trial.h.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/isolated_trial.h>

namespace diecast {
namespace {

using Outcome = TuningRecord::Outcome;

// Why the process that was to measure a configuration measured none, not even the default one.
Error refusal(const std::string& spelling, std::string_view printed) {
  Error error = Error::parse(printed).value_or(
      Error{ErrorCode::process_failed, std::string(printed),
            "`diecast tune --in-process` measures it without a process between"});
  error.what = cat("measuring ", spelling, ": ", error.what);
  return error;
}

std::string how_it_ended(int exit_code, std::string_view printed) {
  const bool signal = exit_code > 128;
  return cat("its process ended ", signal ? "by signal " : "with exit code ",
             signal ? exit_code - 128 : exit_code, printed.empty() ? "" : ": ", printed);
}

// "NAME B=2 @ T" with every tune, those of the launch too.
std::string spelling_of(const TuningRecord& asked) {
  std::string out = asked.kernel;
  if (!asked.tunes.empty()) out.insert(out.find(" @ "), cat(" ", asked.tunes));
  return out;
}

std::vector<std::string> arguments_for(const RuntimeOptions& options, const TuningRecord& asked,
                                       const TuneRequest& request) {
  std::vector<std::string> out = {options.isolated.program, std::string(kTuneCommand),
                                  spelling_of(asked), "--samples", cat(request.samples)};
  for (const auto& [name, value] : asked.sizes) {
    out.push_back("--size");
    out.push_back(cat(name, "=", value));
  }
  for (const auto& [name, value] : request.given) {
    out.push_back("--scalar");
    out.push_back(cat(name, "=", *scalar_text(value)));
  }
  out.insert(out.end(), request.arguments.begin(), request.arguments.end());
  return out;
}

// The other process reads its environment alone; what was set here in options is told it there, so
// that it measures the same code on the same device.
std::vector<std::string> environment_for(Compilers& compilers, const RuntimeOptions& options,
                                         const Target& target, const DeviceProperties& device) {
  std::vector<std::string> own = {
      cat("DIECAST_TEMPLATE_DIR=", options.template_directory),
      cat("DIECAST_INCLUDE=", options.include),
      cat("DIECAST_BUILD=", build_kind_word(options.build)),
      cat("DIECAST_CACHE=", options.cache),
      cat("DIECAST_CACHE_POLICY=", cache_policy_word(options.cache_policy)),
      cat("DIECAST_CACHE_COMPILERS=", compiler_choice_word(options.cache_compilers)),
      cat("DIECAST_CACHE_BYTES=", options.cache_bytes)};
  if (device.cc == 0) own.push_back(cat("DIECAST_HOST_THREADS=", device.sm_count));
  if (options.cache_policy != CachePolicy::require_hit) {  // which opens no compiler
    if (const auto compiler = compilers.open(target))
      own.push_back(cat(target.is_host() ? "DIECAST_CXX=" : "DIECAST_NVRTC=", (*compiler)->path()));
  }
  return environment_with(std::move(own));
}

}  // namespace

Result<TuningRecord> measure_isolated(Compilers& compilers, const RuntimeOptions& options,
                                      const TuningRecord& asked, const Target& target,
                                      const DeviceProperties& device, const TuneRequest& request) {
  TuningRecord out = asked;
  ProcessRequest process;
  process.arguments = arguments_for(options, asked, request);
  process.environment = environment_for(compilers, options, target, device);
  process.time_limit = options.isolated.time;
  const auto ended = run_process(process);
  if (!ended && ended.error().code != ErrorCode::timed_out) return ended.error();
  if (!ended) {
    out.outcome = Outcome::hung;
    out.why = cat("did not end within ", process.time_limit.count(), " ms");
    return out;
  }
  const std::string errors(trim(ended->errors));
  if (ended->exit_code == 1)  // the default did not run either
    return refusal(spelling_of(asked), errors);
  if (ended->exit_code != 0) {
    out.outcome = Outcome::crashed;
    out.why = how_it_ended(ended->exit_code, errors);
    return out;
  }
  DIECAST_TRY(TuningRecord told, parse_tuning_record(trim(ended->output)));
  if (told.outcome != Outcome::timed) told.why = errors;
  if (told.key() == asked.key()) return told;
  return Error{ErrorCode::internal,
               cat("asked to measure ", asked.key(), ", measured ", told.key()),
               "please report it with the command or call that led here"};
}

}  // namespace diecast
