// A tuning record: what one configuration of one kernel took on one device, as one line of text.
//
//   1 | amax COLS=0 IN=bf16 @ sm_90a | NVIDIA_H200/90/132 | rows=512 cols=7168 | THREADS=256
//   waves=8 | ns=5120 spread=7 samples=15 | 5f0d6c1e8a9b2c3d                      (one line)
//
// version | kernel without its tunes | device | sizes of the run | tunes | outcome | checksum of
// what stands before. Records only choose among what a template declares, all of which gives the
// same bits: a wrong record costs speed, never a result.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/template/specialization.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

// Run-time sizes by name, in the order of the kernel's arguments.
using RunSizes = std::vector<std::pair<std::string, std::int64_t>>;

struct TuningRecord {
  enum class Outcome : std::uint8_t {
    timed,    // equal to the default configuration to the bit
    differs,  // another result, or refused by the caller's check: never chosen
    illegal,  // over a limit of the device
    failed,   // an error of the compiler or the device
    crashed,  // its process died
    hung      // its process had to be ended
  };
  std::string kernel;  // tuned_kernel()
  std::string device;  // device_fingerprint()
  RunSizes sizes;
  std::string tunes;  // "THREADS=256 waves=8": every tune, in declaration order
  Outcome outcome = Outcome::timed;
  std::int64_t ns = 0;      // of a launch, the median
  std::int64_t spread = 0;  // between the quartiles, thousandths of the median
  std::int64_t samples = 0;
  std::string why;  // where it has no time, as far as it is known; no part of the line

  std::string line() const;  // without a line end
  std::string key() const;   // all but the outcome
  bool operator==(const TuningRecord&) const = default;
};
std::string_view outcome_word(TuningRecord::Outcome outcome);

// "amax COLS=0 IN=bf16 @ sm_90a": a specialization's spelling without its tunes.
std::string tuned_kernel(const Specialization& specialization);
// "rows=512 cols=4096"; empty for none.
std::string run_sizes_text(const RunSizes& sizes);
// "THREADS=256 waves=8"; empty for a template without tunes.
std::string tunes_text(const Template& tmpl, const Bindings& bindings);
// "NVIDIA_H200/90/132": name, compute capability times ten, multiprocessors (the host: threads).
std::string device_fingerprint(const DeviceProperties& device);
// The run-time sizes that a launch of it brings: those not fixed at compile time.
std::vector<std::string> free_sizes(const Specialization& specialization);
// Whether the template samples this size at 0 alone: of what a plain launch does not have.
bool is_absent_size(const Template& tmpl, std::string_view size);

// Errors: parse_error saying which field is wrong.
Result<TuningRecord> parse_tuning_record(std::string_view line);
// Whether the record is one of this template: every parameter given and allowed, in the spelling
// that diecast writes, tunes out of the tune space, sizes the kernel's own. What it names, or
// value_not_allowed, unknown_parameter, ....
Result<Specialization> check_tuning_record(const TuningRecord& record,
                                           const std::shared_ptr<const Template>& tmpl);

// A file of records, one a line; `#` starts a comment. Lines that are no record are left out and
// named in `wrong` ("line 7: ..."), at most 16 of them.
struct TuningFile {
  std::vector<TuningRecord> records;
  std::vector<std::string> wrong;
};
inline constexpr std::uint64_t kTuningFileLimit = 16u << 20;
TuningFile parse_tuning_file(std::string_view text);
// Errors: those of read_file; parse_error where it has lines, but none that is or begins a record:
// it is a file of something else.
Result<TuningFile> read_tuning_file(const std::string& path);

// Each key once, in the order of keys; of two records of a key one that differs, else the one
// with more samples, then the quicker. The result does not depend on the order or on how often a
// record is there.
std::vector<TuningRecord> merge_tuning_records(std::vector<TuningRecord> records);

}  // namespace diecast
