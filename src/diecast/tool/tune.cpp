// diecast tune SPELLING...: times every configuration that the templates' headers allow, each in a
// process of its own, and keeps the records; see runtime/tuner.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/tuner.h>
#include <diecast/runtime/tuning/choice.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>
#include <diecast/tool/given_files.h>
#include <diecast/tool/given_scalars.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/record_file.h>
#include <diecast/tool/run_sizes.h>
#include <diecast/tool/spin.h>
#include <diecast/tool/tune_report.h>

#include <algorithm>

namespace diecast::tool {
namespace {

struct TuneArguments {
  std::vector<std::string> spellings, sizes, scalars, given, merge;
  Own own;
  std::string target = "auto", out;
  double time_limit = 60;
  int samples = 15;
  bool in_process = false, retry = false, json = false;
};

// A kernel, and the tunes that the command names, a combination each.
struct KernelToTune {
  Specialization plain;
  std::vector<Bindings> held;
};

bool fits(const TuningRecord& record, const Bindings& held) {
  const auto has = words(record.tunes);
  return std::ranges::all_of(held.entries(), [&](const auto& entry) {
    return std::ranges::find(has, cat(entry.first, "=", entry.second.spelling())) != has.end();
  });
}

// What the file, or this run, knows of the kernel with these tunes on the device.
std::vector<TuningRecord> known_of(const KernelToTune& kernel, const Bindings& held,
                                   const std::string& device, const TuneArguments& options,
                                   const RecordFile& file) {
  std::vector<TuningRecord> known;
  for (const TuningRecord& record : file.known) {
    const bool timed = record.outcome == TuningRecord::Outcome::timed;
    if (record.kernel != tuned_kernel(kernel.plain) || record.device != device ||
        !fits(record, held) || (options.retry && !timed) ||
        !check_tuning_record(record, kernel.plain.shared_tmpl())) {
      continue;
    }
    known.push_back(record);
    if (!timed && record.why.empty()) known.back().why = "as an earlier run found";
  }
  return known;
}

// One kernel with some tunes held: what is not known yet is measured.
Result<std::vector<TuningRecord>> tune(Runtime& runtime, const KernelToTune& kernel,
                                       const Bindings& held, const std::shared_ptr<Device>& device,
                                       const TuneArguments& options, const SizeLists& sizes,
                                       RecordFile& file) {
  const Template& tmpl = kernel.plain.tmpl();
  TuneRequest request;
  request.name = tmpl.name();
  request.bindings = held;
  request.sizes = points_of(kernel.plain, sizes, device->properties().cc == 0);
  DIECAST_TRY(request.given, scalars_of(kernel.plain, options.scalars));
  DIECAST_TRY(const GivenFiles files,
              read_given(kernel.plain, request.sizes, options.given, device));
  if (options.in_process)
    request.given.insert(request.given.end(), files.arguments.begin(), files.arguments.end());
  request.samples = options.samples;
  const auto known =
      known_of(kernel, held, device_fingerprint(device->properties()), options, file);
  request.known = known;
  const auto own = options.own.arguments();
  request.arguments.insert(request.arguments.end(), own.begin(), own.end());
  for (const std::string& file : options.given)
    request.arguments.insert(request.arguments.end(), {"--given", file});
  std::size_t done = 0, total = request.sizes.size();
  for (const Parameter& parameter : tmpl.parameters()) {
    if (parameter.kind != Parameter::Kind::tune) {
      request.bindings.set(parameter.name, *kernel.plain.bindings().find(parameter.name));
    } else if (!held.find(parameter.name) && !parameter.allowed.empty()) {
      total *= parameter.allowed.size();
    }
  }
  Progress progress("tune", options.json);
  request.on_record = [&](const TuningRecord& record) {
    progress.update(++done, std::max(done, total), record.tunes);
    file.known.push_back(record);
    return options.retry ? file.replace(record) : file.add(record);
  };
  auto records = runtime.tune(request, device);
  progress.clear();
  return records;
}

Result<int> merge(const TuneArguments& options) {
  std::vector<TuningRecord> all;
  for (const std::string& path : options.merge) {
    DIECAST_TRY(const TuningFile file, read_tuning_file(path));
    for (const std::string& wrong : file.wrong) print(cat("left out: ", path, ": ", wrong));
    all.insert(all.end(), file.records.begin(), file.records.end());
  }
  all = merge_tuning_records(std::move(all));
  if (const auto replaced = read_tuning_file(options.out);
      !replaced && replaced.error().code != ErrorCode::file_not_found)
    return replaced.error();
  DIECAST_TRY(AtomicFile out, AtomicFile::create(system_files(), options.out));
  for (const TuningRecord& record : all)
    DIECAST_CHECK(out.write(as_bytes(cat(record.line(), "\n"))));
  DIECAST_CHECK(out.commit());
  print(cat(all.size(), " records in ", options.out));
  return 0;
}

// The spelling's kernels, with every configuration that they may have: the defaults alone would
// leave out those of which they break a requirement. An integer without a set has its default.
Result<std::vector<Specialization>> expand(Runtime& runtime, const std::string& spelling,
                                           const Spelling& parsed, const Target& target) {
  std::string every = spelling;
  if (const auto tmpl = runtime.find_template(parsed.name)) {
    for (const Parameter& parameter : (*tmpl)->parameters()) {
      const auto named = [&](const auto& entry) { return entry.first == parameter.name; };
      const bool tune = parameter.kind == Parameter::Kind::tune && parameter.compiled() &&
                        !parameter.allowed.empty();
      if (tune && std::ranges::none_of(parsed.values, named))
        every += cat(" ", parameter.name, "=*");
    }
  }
  auto all = expand_spelling(runtime, every, "tune", {&target, 1});
  if (all || all.error().code != ErrorCode::constraint_violated) return all;
  return expand_spelling(runtime, spelling, "tune", {&target, 1});  // what it says of the defaults
}

Result<std::vector<KernelToTune>> read_kernels(Runtime& runtime, const TuneArguments& options,
                                               const Target& target) {
  std::vector<KernelToTune> out;
  for (const std::string& spelling : options.spellings) {
    DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
    DIECAST_TRY(const auto wanted, expand(runtime, spelling, parsed, target));
    for (const Specialization& one : wanted) {
      Bindings held;
      for (const auto& [name, values] : parsed.values) {
        if (one.tmpl().parameter(name)->kind == Parameter::Kind::tune)
          held.set(name, *one.bindings().find(name));
      }
      auto known = std::ranges::find_if(out, [&](const KernelToTune& kernel) {
        return tuned_kernel(kernel.plain) == tuned_kernel(one);
      });
      if (known == out.end()) known = out.insert(known, {one, {}});
      if (std::ranges::find(known->held, held) == known->held.end())
        known->held.push_back(std::move(held));
    }
  }
  return out;
}

// All of one kernel. The choice goes to the console.
Result<std::vector<TuningRecord>> tune_all(Runtime& runtime, const KernelToTune& kernel,
                                           const std::shared_ptr<Device>& device,
                                           const TuneArguments& options, const SizeLists& sizes,
                                           RecordFile& file) {
  std::vector<TuningRecord> records;
  for (const Bindings& held : kernel.held) {
    DIECAST_TRY(const auto some, tune(runtime, kernel, held, device, options, sizes, file));
    records.insert(records.end(), some.begin(), some.end());
  }
  records = merge_tuning_records(std::move(records));
  if (!options.json) {
    const TunedChoice choice = choose_tunes(kernel.plain.tmpl(), records, {});
    print(cat("chosen for ", tuned_kernel(kernel.plain), ":", choice.text(kernel.plain.tmpl())));
  }
  return records;
}

Result<void> wants_work(const TuneArguments& options) {
  if (!options.merge.empty() && options.out.empty())
    return Error{ErrorCode::invalid_argument, "--merge has nowhere to write", "add --out FILE"};
  for (const std::string& spelling : options.spellings) {
    DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
    if (!parsed.targets.empty()) {
      return Error{ErrorCode::invalid_argument,
                   cat(quote(spelling), " has a target, but a kernel is tuned for a device"),
                   cat("leave out `@ ", join(parsed.targets, " "),
                       "`; --target host or --target "
                       "cuda says which device is taken")};
    }
  }
  if (const auto sizes = read_sizes(options.sizes); !sizes) return sizes.error();
  if (!options.merge.empty() || !options.spellings.empty()) return {};
  return Error{ErrorCode::invalid_argument, "no kernel was named",
               "diecast tune \"amax IN=bf16\", or --merge FILE... for records that are there"};
}

Result<int> run(const TuneArguments& options) {
  if (!options.merge.empty()) return merge(options);
  RuntimeOptions with = RuntimeOptions::from_environment();
  with.tuning.clear();  // what was chosen before decides nothing here
  if (!options.in_process) {
    with.isolated.program = own_program();
    with.isolated.time = std::chrono::milliseconds(static_cast<int>(options.time_limit * 1000));
  }
  DIECAST_TRY(const auto runtime, open_runtime(with));
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(const SizeLists sizes, read_sizes(options.sizes));
  DIECAST_TRY(const auto device, open_device(*runtime, options.target));
  if (options.in_process) DIECAST_CHECK(use_other_streams(*runtime, device));
  DIECAST_TRY(RecordFile file, RecordFile::open(options.out));
  if (!options.json) print(cat("tuning on ", describe(*device)));
  DIECAST_TRY(const auto kernels, read_kernels(*runtime, options, device->targets().front()));
  std::vector<Specialization> plain;
  for (const KernelToTune& kernel : kernels) plain.push_back(kernel.plain);
  DIECAST_CHECK(check_sizes_of(plain, sizes));
  DIECAST_CHECK(check_scalars_of(plain, options.scalars));
  std::vector<TuningRecord> records;
  for (const KernelToTune& kernel : kernels) {
    DIECAST_TRY(const auto some, tune_all(*runtime, kernel, device, options, sizes, file));
    records.insert(records.end(), some.begin(), some.end());
  }
  print_records(records, options.json);
  DIECAST_CHECK(check_records(records));
  return 0;
}

}  // namespace

Command add_tune(CLI::App& app) {
  auto* command = app.add_subcommand("tune", "Time every configuration that templates allow");
  command->footer(
      "It fails if a configuration gives other bytes than the default one (differs), which is a\n"
      "fault of the template. It also fails if no configuration of a kernel can be timed.");
  auto options = std::make_shared<TuneArguments>();
  auto* merge = command->add_option("--merge", options->merge,
                                    "Put files of records together, and measure nothing");
  const auto of_measuring = [&](CLI::Option* option) {
    merge->excludes(option);
    return option;
  };
  of_measuring(command->add_option(
      "spelling", options->spellings,
      "Kernels without a target: amax IN=bf16,f16. A tune that is named has these values only"));
  of_measuring(add_target(*command, options->target));
  of_measuring(command->add_option("--size", options->sizes,
                                   "Values of a size to run at: rows=1,512,16384. Each size once"))
      ->allow_extra_args(false);
  of_measuring(command->add_option("--scalar", options->scalars,
                                   "A scalar's value: eps=1e-5. Without it an f32 scalar is 1"))
      ->allow_extra_args(false);
  of_measuring(command->add_option("--given", options->given,
                                   "A file with the bytes of an input or structure: "
                                   "index=index.bin"))
      ->allow_extra_args(false);
  auto* out =
      command->add_option("--out", options->out,
                          "The file to add records to. What it has already is not measured again");
  of_measuring(command->add_flag("--retry", options->retry,
                                 "Measure again what stands in --out without a time"))
      ->needs(out);
  const OwnOptions own = add_own(*command, options->own);
  of_measuring(own.templates);
  of_measuring(own.headers);
  of_measuring(
      command->add_option("--samples", options->samples, "How often each configuration is timed"))
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  auto* limit = of_measuring(command->add_option("--time-limit", options->time_limit,
                                                 "Seconds a configuration may take"))
                    ->check(between(0.001, 86400.0))
                    ->capture_default_str();
  of_measuring(command->add_flag("--in-process", options->in_process,
                                 "Run them in this process, without limits"))
      ->excludes(limit);
  of_measuring(command->add_flag("--json", options->json, "For programs"));
  return {command, [options] { return run(*options); }, [options] { return wants_work(*options); }};
}

}  // namespace diecast::tool
