// Printing and judging tuning records; see tune_report.h.
#include <diecast/base/text.h>
#include <diecast/tool/console.h>
#include <diecast/tool/tune_report.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

using Outcome = TuningRecord::Outcome;

bool is_timed(const TuningRecord& record) { return record.outcome == Outcome::timed; }

std::string time_text(const TuningRecord& record) {
  if (!is_timed(record)) return std::string(outcome_word(record.outcome));
  return fixed(static_cast<double>(record.ns) / 1000, 2);
}

// "amax IN=bf16 @ sm_90a (THREADS=64 waves=1; rows=8): hung: did not end within 4000 ms"
std::string line_of(const TuningRecord& record) {
  return cat(record.kernel, " (", record.tunes, record.sizes.empty() ? "" : "; ",
             run_sizes_text(record.sizes), "): ", outcome_word(record.outcome),
             record.why.empty() ? "" : ": ", record.why);
}

// What is over a limit of the device is as it should be.
void print_failed(std::span<const TuningRecord> records) {
  constexpr std::size_t kNamed = 5;
  std::size_t failed = 0;
  for (const TuningRecord& record : records) {
    if (is_timed(record) || record.outcome == Outcome::illegal) continue;
    if (++failed <= kNamed) print(cat("not timed: ", line_of(record)));
  }
  if (failed > kNamed) print(cat("not timed: ", failed - kNamed, " more (--json says why)"));
  if (failed > 0) print("what a file of --out has is not measured again, but with --retry");
}

}  // namespace

void print_records(std::span<const TuningRecord> records, bool json) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"kernel", "sizes", "tunes", "us", "spread %"});
  for (const TuningRecord& record : records) {
    table.add({record.kernel, run_sizes_text(record.sizes), record.tunes, time_text(record),
               fixed(static_cast<double>(record.spread) / 10, 1)});
    out.push_back({{"kernel", record.kernel},
                   {"device", record.device},
                   {"sizes", run_sizes_text(record.sizes)},
                   {"tunes", record.tunes},
                   {"outcome", outcome_word(record.outcome)},
                   {"ns", record.ns},
                   {"spread", record.spread},
                   {"samples", record.samples}});
    if (!record.why.empty()) out.back()["why"] = record.why;
  }
  if (json) {
    print_json(out);
  } else {
    table.print();
    print_failed(records);
  }
}

Result<void> check_records(std::span<const TuningRecord> records) {
  const auto differs = std::ranges::find(records, Outcome::differs, &TuningRecord::outcome);
  if (differs != records.end()) {
    const auto all = std::ranges::count(records, Outcome::differs, &TuningRecord::outcome);
    return Error{
        ErrorCode::results_differ,
        cat(all, " of ", records.size(),
            " configurations differ from the default one: ", line_of(*differs)),
        "a tune may change the speed alone: mend the template, make the tune an `option`, or, "
        "where it only rounds sums in another order, end its line in `approx`; then measure "
        "these again, in a file of --out with --retry"};
  }
  std::map<std::string_view, bool> has_time;
  for (const TuningRecord& record : records) {
    bool& has = has_time.try_emplace(record.kernel, false).first->second;
    has = has || is_timed(record);
  }
  for (const TuningRecord& record : records) {
    if (has_time.at(record.kernel)) continue;
    return Error{
        ErrorCode::process_failed,
        cat("no configuration of a kernel has a time: ", line_of(record)),
        "mend what is said of it; what a file of --out has is measured again with --retry"};
  }
  return {};
}

}  // namespace diecast::tool
