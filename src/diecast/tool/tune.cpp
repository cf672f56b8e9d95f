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
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/record_file.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace diecast::tool {
namespace {

struct TuneArguments {
  std::vector<std::string> spellings, own, sizes, merge;
  std::string target = "auto", out;
  double time_limit = 60;
  int samples = 15;
  bool in_process = false, json = false;
};

using SizeLists = std::map<std::string, std::vector<std::int64_t>>;

Result<SizeLists> read_sizes(const std::vector<std::string>& given) {
  SizeLists out;
  for (const std::string& word : given) {
    const std::size_t equals = std::min(word.find('='), word.size());
    for (const std::string_view digits :
         split(std::string_view(word).substr(std::min(equals + 1, word.size())), ',')) {
      const auto number = parse_integer(digits);
      if (!number || *number < 0 || equals == 0) {
        return Error{ErrorCode::invalid_argument, cat(quote(word), " is no size"),
                     "write it as --size rows=1,512,16384 --size cols=4096"};
      }
      out[word.substr(0, equals)].push_back(*number);
    }
  }
  return out;
}

// Every combination of the sizes that a launch of it brings. Where nothing is given: a decode's, a
// prefill's and a long prefill's rows on a GPU; on the host what takes a moment; 0 of what a plain
// launch does not have.
std::vector<RunSizes> points_of(const Specialization& one, const SizeLists& given, bool host) {
  std::vector<RunSizes> points = {{}};
  bool first = true;
  for (const std::string& name : free_sizes(one)) {
    const auto found = given.find(name);
    std::vector<std::int64_t> values;
    if (found != given.end()) values = found->second;
    if (values.empty() && is_absent_size(one.tmpl(), name)) values = {0};
    if (values.empty() && !first) values = {host ? 2048 : 4096};
    if (values.empty())
      values = host ? std::vector<std::int64_t>{16, 256} : std::vector<std::int64_t>{16, 512, 8192};
    first = false;
    std::vector<RunSizes> more;
    for (const RunSizes& point : points) {
      for (const std::int64_t value : values) {
        more.push_back(point);
        more.back().emplace_back(name, value);
      }
    }
    points = std::move(more);
  }
  return points;
}

bool is_timed(const TuningRecord& record) { return record.outcome == TuningRecord::Outcome::timed; }

std::string time_text(const TuningRecord& record) {
  if (!is_timed(record)) return std::string(outcome_word(record.outcome));
  return fixed(static_cast<double>(record.ns) / 1000, 2);
}

std::string size_text(const RunSizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes) out += cat(out.empty() ? "" : " ", name, "=", value);
  return out;
}

void print_records(const std::vector<TuningRecord>& records, bool json) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"kernel", "sizes", "tunes", "us", "spread %"});
  for (const TuningRecord& record : records) {
    table.add({record.kernel, size_text(record.sizes), record.tunes, time_text(record),
               fixed(static_cast<double>(record.spread) / 10, 1)});
    out.push_back({{"kernel", record.kernel},
                   {"device", record.device},
                   {"sizes", size_text(record.sizes)},
                   {"tunes", record.tunes},
                   {"outcome", outcome_word(record.outcome)},
                   {"ns", record.ns},
                   {"spread", record.spread},
                   {"samples", record.samples}});
  }
  if (json) {
    print_json(out);
  } else {
    table.print();
  }
}

// One kernel: what is not known yet is measured. The choice goes to the console.
Result<std::vector<TuningRecord>> tune(Runtime& runtime, const Specialization& one,
                                       const Bindings& held, const std::shared_ptr<Device>& device,
                                       const TuneArguments& options, const SizeLists& sizes,
                                       RecordFile& file) {
  TuneRequest request;
  request.name = one.tmpl().name();
  for (const Parameter& parameter : one.tmpl().parameters()) {
    if (parameter.kind != Parameter::Kind::tune || held.find(parameter.name))
      request.bindings.set(parameter.name, *one.bindings().find(parameter.name));
  }
  request.sizes = points_of(one, sizes, device->properties().cc == 0);
  request.samples = options.samples;
  const std::string kernel = tuned_kernel(one), on = device_fingerprint(device->properties());
  std::vector<TuningRecord> known;
  std::ranges::copy_if(file.known, std::back_inserter(known), [&](const TuningRecord& record) {
    return record.kernel == kernel && record.device == on &&
           check_tuning_record(record, one.shared_tmpl());
  });
  request.known = known;
  for (const std::string& path : options.own) {
    request.arguments.insert(request.arguments.end(), {"--add", path});
  }
  std::size_t done = 0, total = request.sizes.size();
  for (const Parameter& parameter : one.tmpl().parameters()) {
    if (parameter.kind == Parameter::Kind::tune && !held.find(parameter.name))
      total *= parameter.allowed.size();
  }
  std::optional<Error> unwritten;
  Progress progress("tune", options.json);
  request.on_record = [&](const TuningRecord& record) {
    progress.update(++done, std::max(done, total), record.tunes);
    if (const auto added = file.add(record); !added) unwritten = added.error();
  };
  auto records = runtime.tune(request, device);
  progress.clear();
  if (unwritten) return *unwritten;
  if (records && !options.json) {
    const TunedChoice choice = choose_tunes(one.tmpl(), *records, held);
    print(cat("chosen for ", kernel, ":", choice.text(one.tmpl())));
  }
  return records;
}

Result<int> merge(const TuneArguments& options) {
  std::vector<TuningRecord> all;
  for (const std::string& path : options.merge) {
    DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, kTuningFileLimit));
    const TuningFile file =
        parse_tuning_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    for (const std::string& wrong : file.wrong) print(cat("left out: ", path, ": ", wrong));
    all.insert(all.end(), file.records.begin(), file.records.end());
  }
  all = merge_tuning_records(std::move(all));
  DIECAST_TRY(AtomicFile out, AtomicFile::create(system_files(), options.out));
  for (const TuningRecord& record : all)
    DIECAST_CHECK(out.write(as_bytes(cat(record.line(), "\n"))));
  DIECAST_CHECK(out.commit());
  print(cat(all.size(), " records in ", options.out));
  return 0;
}

struct KernelToTune {
  Specialization plain;
  Bindings held;  // tunes that its spelling names
};

Result<std::vector<KernelToTune>> read_kernels(Runtime& runtime, const TuneArguments& options,
                                               const Target& target) {
  std::vector<KernelToTune> out;
  for (const std::string& spelling : options.spellings) {
    DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
    DIECAST_TRY(const auto wanted, expand_spelling(runtime, spelling, "tune", {&target, 1}));
    Bindings held;
    for (const auto& [name, values] : parsed.values) {
      const Parameter* parameter = wanted.front().tmpl().parameter(name);
      if (parameter->kind == Parameter::Kind::tune) held.set(name, std::string_view(values[0]));
    }
    for (const Specialization& one : wanted) out.push_back({one, held});
  }
  return out;
}

// A size that no kernel has would leave the usual ones in its place.
Result<void> check_sizes_of(std::span<const KernelToTune> kernels, const SizeLists& given) {
  std::vector<std::string> names;
  for (const KernelToTune& kernel : kernels) {
    for (const Size& size : kernel.plain.tmpl().sizes())
      if (std::ranges::find(names, size.name) == names.end()) names.push_back(size.name);
  }
  for (const auto& [name, values] : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return Error{ErrorCode::unknown_parameter,
                 cat("--size: no size is named ", quote(name), did_you_mean(name, names)),
                 cat("the sizes are ", join(names, ", "))};
  }
  return {};
}

Result<void> wants_work(const TuneArguments& options) {
  if (!options.merge.empty() && options.out.empty())
    return Error{ErrorCode::invalid_argument, "--merge has nowhere to write", "add --out FILE"};
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
  for (const std::string& path : options.own) DIECAST_CHECK(runtime->add(path));
  DIECAST_TRY(const SizeLists sizes, read_sizes(options.sizes));
  DIECAST_TRY(const auto device, open_device(*runtime, options.target));
  DIECAST_TRY(RecordFile file, RecordFile::open(options.out));
  if (!options.json) print(cat("tuning on ", describe(*device)));
  DIECAST_TRY(const auto kernels, read_kernels(*runtime, options, device->targets().front()));
  DIECAST_CHECK(check_sizes_of(kernels, sizes));
  std::vector<TuningRecord> records;
  bool each_has_a_time = true;
  for (const auto& [one, held] : kernels) {
    DIECAST_TRY(const auto some, tune(*runtime, one, held, device, options, sizes, file));
    each_has_a_time = each_has_a_time && (some.empty() || std::ranges::any_of(some, is_timed));
    records.insert(records.end(), some.begin(), some.end());
  }
  print_records(records, options.json);
  return each_has_a_time ? 0 : 1;
}

}  // namespace

Command add_tune(CLI::App& app) {
  auto* command = app.add_subcommand("tune", "Time every configuration that templates allow");
  auto options = std::make_shared<TuneArguments>();
  command->add_option("spelling", options->spellings,
                      "Kernels without a target: amax IN=bf16,f16; a tune that is named is held");
  command->add_option("--target", options->target, "Where it runs")
      ->check(CLI::IsMember({"auto", "host", "cuda"}))
      ->capture_default_str();
  command->add_option("--size", options->sizes, "Sizes to run at: rows=1,512,16384; once a name")
      ->allow_extra_args(false);
  command->add_option("--out", options->out,
                      "A file that gets each record; what it has is not measured again");
  command->add_option("--merge", options->merge, "Files of records to put together, instead");
  command->add_option("--add", options->own, "A template file of your own")
      ->allow_extra_args(false);
  command->add_option("--samples", options->samples, "Of each configuration")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--time-limit", options->time_limit, "Seconds a configuration may take")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  command->add_flag("--in-process", options->in_process,
                    "Run them in this process, without limits");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return run(*options); }, [options] { return wants_work(*options); }};
}

}  // namespace diecast::tool
