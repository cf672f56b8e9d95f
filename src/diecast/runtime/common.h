// What all parts of a runtime share: its options, what it counts, tells and traces, and whether it
// is frozen. A plain object without a lock: the options stay as they were given, the numbers and
// flags are atomic, and the sink and the trace take callers of several threads.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/base/line_file.h>
#include <diecast/runtime/event_log.h>
#include <diecast/runtime/runtime.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

// Keeps the events of this thread instead of telling them. While others wait for what it makes no
// sink may run on it: that could wait for what one of them makes, and neither would ever end.
class KeepEvents {
 public:
  explicit KeepEvents(std::vector<RuntimeEvent>& in) { kept = &in; }
  ~KeepEvents() { kept = nullptr; }
  KeepEvents(const KeepEvents&) = delete;
  static inline thread_local std::vector<RuntimeEvent>* kept = nullptr;
};

struct Common {
  explicit Common(RuntimeOptions given) : options(std::move(given)) {}

  // What neither the sink nor the memory takes is dropped.
  void tell(RuntimeEvent event) const;
  void tell(RuntimeEvent::Kind kind, std::string spelling, std::string detail, double ms) const {
    tell({kind, std::move(spelling), std::move(detail), ms});
  }
  RuntimeCounters counters() const;
  std::vector<RuntimeEvent> notices() const;
  // Errors: those of EventLog::open().
  Result<void> open_log();
  // Errors: frozen, which names the kernel and what it is: "not resident".
  Result<void> allow_late(const std::string& spelling, std::string_view missing);
  // Errors: those of LineFile::open(), parse_error where the file is something else.
  Result<void> open_trace();
  void write_trace(const std::string& spelling);

  const RuntimeOptions options;
  const pid_t process = ::getpid();  // a forked child has its parent's counts
  std::atomic<bool> frozen{false};
  std::atomic<Late> late{Late::error};
  struct {
    std::atomic<std::uint64_t> rendered{0}, memory_hits{0}, disk_hits{0}, compiled{0}, failed{0},
        published{0}, loaded{0}, waited{0}, late{0}, refused{0}, pruned{0}, ignored{0}, degraded{0};
  } count;

 private:
  void keep_notice(const RuntimeEvent& event) const;

  EventLog log_;
  LineFile trace_;
  std::atomic<bool> told_untraced_{false};
  mutable std::vector<RuntimeEvent> notices_;  // the first of them
  mutable ForkSafe<std::mutex> noticing_;
};

}  // namespace diecast
