// The events that a runtime reports to its owner, one kind for each arrow of the line from template
// to kernel. The library itself prints only what DIECAST_LOG asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace diecast {

struct RuntimeEvent {
  enum class Kind : std::uint8_t {
    rendered,   // a specialization became a source
    found,      // its artifact was in the disk cache (detail: its key)
    compiled,   // its artifact was made by a compiler (detail: its key; ms)
    failed,     // resolving it failed (detail: the error's message)
    published,  // its artifact got its name in the disk cache (detail: its key)
    loaded,     // its code became resident on a device (detail: the device, and what tuning records
                // chose of it, each approx tune marked so; ms)
    late,       // after freeze(Late::warn) it was compiled or loaded (detail: which)
    refused,    // a device did not take its cached code: it is compiled again (detail: the error)
    pruned,     // the disk cache was brought back to its size (detail: how much)
    ignored,    // a tuning record, or a file of them, is not used (detail: which, and why)
    degraded  // a cache root is off or not written any more, or the trace (detail: why); once each
  };
  Kind kind;
  std::string spelling;  // of the specialization; empty for pruned, ignored and degraded
  std::string detail;
  double ms = 0;
};

std::string_view event_name(RuntimeEvent::Kind kind);
// Whether a program that gives no sink should know of it: late, ignored, degraded.
bool is_notice(RuntimeEvent::Kind kind);
// "late: NAME ...: not resident", on one line.
std::string event_text(const RuntimeEvent& event);

// A sink is called on the thread where the event happened. No lock of ours is held, so it may call
// the runtime; the outcome of a resolve is there already. Several threads may call it at once, even
// if only one thread uses the runtime: the preload of a list works on several threads, and that
// thread may be waiting for them. An exception that the sink throws is dropped. Events of a root
// that is written (published, pruned, degraded) come from a thread of the runtime (from the
// caller's thread, if none can be started or in a forked child). On that thread `flush` waits for
// nothing, and the runtime must not be destroyed.
using EventSink = std::function<void(const RuntimeEvent&)>;

// How often each arrow was taken since the runtime was made.
struct RuntimeCounters {
  std::uint64_t rendered = 0;
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t compiled = 0;
  std::uint64_t failed = 0;
  std::uint64_t published = 0;
  std::uint64_t loaded = 0;
  std::uint64_t waited = 0;               // for another thread's compile of the same key
  std::uint64_t late = 0;                 // compiles and loads after freeze(Late::warn)
  std::uint64_t refused = 0, pruned = 0;  // pruned: files removed
  std::uint64_t ignored = 0;              // tuning records and files of them
  std::uint64_t degraded = 0;             // cache roots left out, or not written any more
};

}  // namespace diecast
