// Reading and writing tuning records. All numbers are integers: no locale, no NaN.
#include <diecast/base/file.h>
#include <diecast/base/hash.h>
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/record.h>

#include <algorithm>
#include <tuple>

namespace diecast {
namespace {

using Outcome = TuningRecord::Outcome;

constexpr std::string_view kVersion = "1";
constexpr std::size_t kLongestLine = 4096, kFields = 7, kMostWrong = 16;
constexpr std::int64_t kLongest = 3600'000'000'000;  // nanoseconds of a launch: an hour
constexpr std::string_view kOutcomes[] = {"timed",  "differs", "illegal",
                                          "failed", "crashed", "hung"};

Error wrong(std::string_view field, std::string_view text) {
  return {ErrorCode::parse_error, cat("the ", field, " of a tuning record is ", quote(text, 80)),
          "leave the line out, or measure again with `diecast tune`"};
}

// A field of a record's line, which is never empty.
std::string or_dash(std::string text) { return text.empty() ? "-" : text; }

std::string checksum(std::string_view text) { return hex16(xxh3_128(as_bytes(text)).low); }

constexpr std::int64_t kMostSpread = 1000000;  // farther apart is told as this

// "ns=5120 spread=7 samples=15", each once and in this order.
bool read_times(std::string_view text, TuningRecord& out) {
  const auto parts = split(text, ' ');
  const auto take = [&](std::size_t at, std::string_view name, std::int64_t least,
                        std::int64_t most, std::int64_t& to) {
    if (!parts[at].starts_with(name)) return false;
    const std::string_view digits = parts[at].substr(name.size());
    const auto number = parse_integer(digits);
    if (!number || *number < least || *number > most || cat(*number) != digits) return false;
    to = *number;
    return true;
  };
  return parts.size() == 3 && take(0, "ns=", 1, kLongest, out.ns) &&
         take(1, "spread=", 0, kMostSpread, out.spread) &&
         take(2, "samples=", 1, 1000000, out.samples);
}

bool read_outcome(std::string_view text, TuningRecord& out) {
  for (std::size_t i = 1; i < std::size(kOutcomes); ++i) {
    if (text != kOutcomes[i]) continue;
    out.outcome = static_cast<Outcome>(i);
    return true;
  }
  return read_times(text, out);
}

bool read_sizes(std::string_view text, RunSizes& out) {
  if (text == "-") return true;
  for (const std::string_view word : split(text, ' ')) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view digits = word.substr(std::min(equals + 1, word.size()));
    const auto number = parse_integer(digits);
    if (equals == 0 || !number || *number < 0 || cat(*number) != digits) return false;
    out.emplace_back(word.substr(0, equals), *number);
  }
  return true;
}

bool is_device(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/+").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

std::string TuningRecord::key() const {
  return cat(kVersion, " | ", kernel, " | ", device, " | ", or_dash(run_sizes_text(sizes)), " | ",
             or_dash(tunes));
}

std::string TuningRecord::line() const {
  const std::string text =
      cat(key(), " | ",
          outcome == Outcome::timed
              ? cat("ns=", ns, " spread=", std::min(spread, kMostSpread), " samples=", samples)
              : std::string(outcome_word(outcome)));
  return cat(text, " | ", checksum(text));
}

std::string run_sizes_text(const RunSizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes) out += cat(out.empty() ? "" : " ", name, "=", value);
  return out;
}

std::string tuned_kernel(const Specialization& specialization) {
  std::string text = specialization.tmpl().name();
  for (const Parameter& parameter : specialization.tmpl().parameters()) {
    if (parameter.kind == Parameter::Kind::tune) continue;
    text +=
        cat(" ", parameter.name, "=", specialization.bindings().find(parameter.name)->spelling());
  }
  return cat(text, " @ ", specialization.target().name());
}

std::string tunes_text(const Template& tmpl, const Bindings& bindings) {
  std::string text;
  for (const Parameter& parameter : tmpl.parameters()) {
    if (parameter.kind != Parameter::Kind::tune) continue;
    text += cat(text.empty() ? "" : " ", parameter.name, "=",
                bindings.find(parameter.name)->spelling());
  }
  return text;
}

std::string device_fingerprint(const DeviceProperties& device) {
  std::string name =
      cat(device.name.empty() ? "device" : device.name, "/", device.cc, "/", device.sm_count);
  for (char& c : name) {
    if (!is_device(std::string_view(&c, 1))) c = '_';
  }
  return name;
}

std::vector<std::string> free_sizes(const Specialization& specialization) {
  std::vector<std::string> names;
  for (const BoundArgument& argument : specialization.arguments())
    if (argument.kind == Argument::Kind::size && !argument.fixed) names.push_back(argument.name);
  return names;
}

bool is_absent_size(const Template& tmpl, std::string_view size) {
  for (const Samples& samples : tmpl.samples()) {
    if (samples.name == size) return samples.values == std::vector<std::int64_t>{0};
  }
  return false;
}

Result<TuningRecord> parse_tuning_record(std::string_view line) {
  if (line.size() > kLongestLine) return wrong("length", cat(line.size()));
  std::vector<std::string_view> fields;
  for (std::string_view rest = line;;) {
    const std::size_t end = rest.find(" | ");
    fields.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 3);
  }
  if (fields[0] != kVersion) return wrong("version", fields[0]);
  if (fields.size() != kFields) return wrong("number of fields", cat(fields.size()));
  const std::string_view before = line.substr(0, line.size() - fields[6].size() - 3);
  if (fields[6] != checksum(before)) return wrong("checksum", fields[6]);
  TuningRecord out;
  out.kernel = fields[1];
  if (out.kernel.empty()) return wrong("kernel", fields[1]);
  out.device = fields[2];
  if (!is_device(out.device)) return wrong("device", fields[2]);
  if (!read_sizes(fields[3], out.sizes)) return wrong("list of sizes", fields[3]);
  if (fields[4] != "-") out.tunes = fields[4];
  if (!read_outcome(fields[5], out)) return wrong("outcome", fields[5]);
  if (out.line() != line) return wrong("spelling", line);
  return out;
}

Result<Specialization> check_tuning_record(const TuningRecord& record,
                                           const std::shared_ptr<const Template>& tmpl) {
  DIECAST_TRY(const Spelling kernel, parse_spelling(record.kernel));
  DIECAST_TRY(const Spelling tunes, parse_spelling(cat(tmpl->name(), " ", record.tunes)));
  if (kernel.name != tmpl->name() || kernel.targets.size() != 1)
    return wrong("kernel", record.kernel);
  Bindings bindings;
  for (const Spelling* part : {&kernel, &tunes}) {
    for (const auto& [name, values] : part->values) {
      const Parameter* parameter = tmpl->parameter(name);
      if (parameter == nullptr) return unknown_parameter(*tmpl, name);
      if (values.size() != 1) return wrong("kernel", record.kernel);
      DIECAST_TRY(Value value, parameter->read(values[0]));
      bindings.set(name, std::move(value));
    }
  }
  DIECAST_TRY(const Target target, Target::parse(kernel.targets[0]));
  DIECAST_TRY(Specialization out, Specialization::make(tmpl, bindings, target));
  if (tuned_kernel(out) != record.kernel) return wrong("kernel", record.kernel);
  if (tunes_text(*tmpl, out.bindings()) != record.tunes)
    return wrong("list of tunes", record.tunes);
  std::vector<std::string> names;
  for (const auto& [name, value] : record.sizes) names.push_back(name);
  if (names != free_sizes(out))
    return wrong("list of sizes", or_dash(run_sizes_text(record.sizes)));
  return out;
}

TuningFile parse_tuning_file(std::string_view text) {
  TuningFile out;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line[0] == '#') continue;
    auto record = parse_tuning_record(line);
    if (record) {
      out.records.push_back(*std::move(record));
    } else if (out.wrong.size() < kMostWrong) {
      out.wrong.push_back(cat("line ", number, ": ", record.error().what));
    }
  }
  return out;
}

Result<TuningFile> read_tuning_file(const std::string& path) {
  DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, kTuningFileLimit));
  const std::string_view text = file_text(bytes);
  TuningFile file = parse_tuning_file(text);
  if (!file.records.empty() || file.wrong.empty()) return file;
  const std::string begin = cat(kVersion, " | ");  // of one that was cut short, or changed by hand
  if (text.starts_with(begin) || text.find("\n" + begin) != text.npos) return file;
  return Error{ErrorCode::parse_error,
               cat(quote(path, 1000), " is no file of tuning records: ", file.wrong[0]),
               "give the path of a new file, or of one that `diecast tune` has written"};
}

std::vector<TuningRecord> merge_tuning_records(std::vector<TuningRecord> records) {
  struct Keyed {
    std::string key;
    TuningRecord record;
  };
  std::vector<Keyed> all;
  all.reserve(records.size());
  for (TuningRecord& record : records) all.push_back({record.key(), std::move(record)});
  const auto order = [](const Keyed& one) {
    const TuningRecord& r = one.record;
    return std::tuple(std::string_view(one.key), r.outcome != Outcome::differs, -r.samples, r.ns,
                      r.spread, r.outcome);
  };
  std::ranges::sort(all, {}, order);
  const auto same = [](const Keyed& a, const Keyed& b) { return a.key == b.key; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  records.clear();
  for (Keyed& one : all) records.push_back(std::move(one.record));
  return records;
}

}  // namespace diecast
