// Tuning records: what is accepted keeps its promises, else abort.
#include "fuzz/tuning_target.h"

#include <diecast/base/file.h>
#include <diecast/runtime/tuning/bound.h>
#include <diecast/runtime/tuning/choice.h>
#include <diecast/template/embedded.h>

#include <algorithm>

#include "fuzz/targets.h"

namespace diecast::testing {
namespace {

const std::shared_ptr<const Template>& amax() {
  static const auto parsed =
      Template::parse("amax", *TemplateFiles::embedded().template_text("amax")).value();
  return parsed;
}

// What parses is written as it was read; what its template takes is chosen without harm.
void check_tuning(std::string_view line) {
  const auto record = parse_tuning_record(line);
  if (!record) return must(!record.error().fix.empty());
  must(record->line() == line);
  if (!check_tuning_record(*record, amax())) return;
  (void)choose_tunes(*amax(), std::span(&*record, 1), {});
}

}  // namespace

// Bounds that parse choose among what the template allows.
void check_bounds(std::string_view text) {
  const auto bounds = parse_tuning_bounds(text, "fuzz.txt");
  if (!bounds) return must(!bounds.error().fix.empty());
  const Target target = Target::parse("sm_90a").value();
  Bindings options;
  options.set("IN", DType::bf16);
  for (const std::int64_t cols : {0, 4096}) {
    const auto chosen = bounded_tunes(*amax(), *bounds, options, cols, target, 132);
    must(chosen.ok() && chosen->size() <= bounds->size());
    for (const auto& [below, tunes] : *chosen) {
      Bindings all = options;
      for (const auto& [name, value] : tunes.entries()) all.set(name, value);
      must(Specialization::make(amax(), all, target).ok());
    }
  }
}

// As it is, and with the checksum that would be right.
void fuzz_tuning(std::string_view input) {
  const TuningFile file = parse_tuning_file(input);
  must(merge_tuning_records(file.records).size() <= file.records.size());
  check_bounds(input);
  check_tuning(input);
  const std::string before(input.substr(0, std::min(input.rfind(" | "), input.size())));
  check_tuning(before + " | " + hex16(xxh3_128(as_bytes(before)).low));
}

std::vector<std::string> tuning_seeds() {
  TuningRecord record;
  record.kernel =
      "amax COLS=0 ROWS=dense IN=bf16 PER=tensor BLOCK=16 NANS=ignore RHT=none SIGN_MASK=0 @ "
      "sm_90a";
  record.device = "NVIDIA_H200/90/132";
  record.sizes = {{"rows", 512}, {"cols", 4096}};
  record.tunes = "THREADS=128 waves=2";
  record.ns = 5120;
  record.samples = 15;
  TuningRecord hung = record;
  hung.outcome = TuningRecord::Outcome::hung;
  must(check_tuning_record(record, amax()).ok());
  const std::string bounds =
      "1 | amax IN=bf16,f16 PER=tensor | NVIDIA_H200/90/132 | cols<=4096 elements/sm<7200 | "
      "THREADS=128 waves=2\n1 | amax | NVIDIA_H200/90/132 | elements<4097 | THREADS=256 waves=8\n";
  must(parse_tuning_bounds(bounds, "seed").ok());
  return {record.line(), record.line() + "\n# note\n" + hung.line() + "\n", bounds};
}

}  // namespace diecast::testing
