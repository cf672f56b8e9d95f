// What a runtime makes of tuning records: read once, checked against a template when that is first
// used, chosen from whenever the caller gives no tunes; and what was chosen.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/runtime/common.h>
#include <diecast/runtime/tuning/choice.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace diecast {

class Tuning {
 public:
  explicit Tuning(Common& common) : common_(common) {}
  // Reads the files of RuntimeOptions::tuning. One that cannot be read, a line that is no record
  // and a record that breaks its template's tune space are each an `ignored` event.
  void open();
  void add(std::vector<TuningRecord> records);

  bool has_records() const { return has_records_; }  // of whatever kernel
  // The records of its kernel, each key once, on the device of this fingerprint; empty: on all.
  std::vector<TuningRecord> records_of(const Specialization& specialization,
                                       const std::string& device);
  // With the tunes that records choose, where the bindings have none.
  Result<Specialization> specialize(const std::shared_ptr<const Template>& tmpl,
                                    const Bindings& bindings, const Target& target,
                                    const Device& device);
  // As Runtime::tuned_variants().
  std::vector<Specialization> variants(const Specialization& plain, const Bindings& given);
  // As Runtime::tuned_point_variants().
  std::vector<Specialization> point_variants(const Specialization& standard, const Bindings& given);
  // Of a kernel that is preloaded, which digest() counts from here on.
  std::vector<TunedLaunch> launches(const Specialization& specialization, const Device& device);
  // What records chose of such a kernel by launches(): "; THREADS=128 approx; rows=1: waves=8".
  // Empty where they have nothing to say.
  std::string chosen(const Specialization& specialization) const;
  // As Runtime::selection_digest().
  std::string digest() const;

 private:
  void ignore(std::string detail);
  std::map<std::string, std::vector<TuningRecord>> records_by_device(
      const Specialization& specialization);

  struct TemplateRecords {
    std::vector<TuningRecord> unchecked, checked;  // checked: each key once
  };
  Common& common_;
  std::atomic<bool> has_records_{false};
  mutable ForkSafe<std::mutex> mutex_;                           // of both maps
  std::map<std::string, TemplateRecords, std::less<>> records_;  // by template
  using Preloaded = std::pair<std::string, std::string>;         // spelling, tunes
  std::map<Preloaded, std::string> selected_;                    // what is chosen of it
  static Preloaded preloaded(const Specialization& specialization);
};

}  // namespace diecast
