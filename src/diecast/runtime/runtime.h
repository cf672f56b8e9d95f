// The runtime owns the line from template to kernel and nothing else:
//
//   specialize -> render -> (cache) -> compile -> preload -> launch
//
// Building and becoming resident are separate calls, because on a busy GPU making code resident
// waits until the GPU is idle: resolve may compile, preload may wait for the GPU, a launch does
// neither, and after freeze a late compile or load is an error that names the kernel.
// Making a runtime opens no compiler, no driver and starts no thread. All calls are thread-safe.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/cache/cache_roots.h>
#include <diecast/compile/compiler.h>
#include <diecast/compile/host_cxx.h>
#include <diecast/compile/nvrtc.h>
#include <diecast/launch/device.h>
#include <diecast/launch/kernel.h>
#include <diecast/runtime/event.h>
#include <diecast/runtime/prepared_table.h>
#include <diecast/template/embedded.h>
#include <diecast/template/source.h>
#include <diecast/template/specialization.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// DIECAST_CACHE_POLICY: auto, require-hit, read-only, off, rebuild.
enum class CachePolicy : std::uint8_t {
  automatic,    // look, else compile and publish
  require_hit,  // a miss is an error that has the manifest line to add; no compiler is opened
  read_only,    // look, else compile; nothing is written
  off,          // neither looked nor written
  rebuild       // compile everything once more and replace what is there
};
std::string_view cache_policy_word(CachePolicy policy);
Result<CachePolicy> parse_cache_policy(std::string_view word);

// Settings for compiling in a process of its own, so that a bad template can neither hang nor blow
// up the caller. Starting it costs some 20 ms a compile: use it for warming, not for a first use.
struct IsolatedCompiles {
  std::string program;  // the diecast command; empty: compile in this process, unbounded
  std::chrono::milliseconds time{120000};
  std::uint64_t memory = 8ull << 30;  // bytes of address space
};

struct RuntimeOptions {
  std::string template_directory;  // DIECAST_TEMPLATE_DIR; empty: the embedded templates
  std::string include;  // DIECAST_INCLUDE: folders of headers (add_header), separated by commas
  // DIECAST_CACHE: "off", a directory, or roots (cache_roots.h); empty: the default root.
  std::string cache;
  CachePolicy cache_policy = CachePolicy::automatic;
  // If false, as under require_hit, a missing root that `cache` names is left out.
  bool creates_roots = true;
  CompilerChoice cache_compilers = CompilerChoice::found;  // DIECAST_CACHE_COMPILERS
  std::uint64_t cache_bytes = 2ull << 30;  // DIECAST_CACHE_BYTES of the writable root; 0: no limit
  std::string trace;  // DIECAST_TRACE: a file that gets the line of everything resolved, for `warm`
  std::string log;    // DIECAST_LOG: off, warn, info, or a file; what of its events is printed
  BuildKind build = BuildKind::plain;  // DIECAST_BUILD; see build_kind.h
  std::string tuning;  // DIECAST_TUNING: files of tuning records, separated by commas
  NvrtcSearch nvrtc;
  HostCxxOptions host_cxx;
  IsolatedCompiles isolated;
  // Of each op that convenience calls prepare. Beyond so many, a row length counts as unknown: one
  // kernel then takes all further lengths. What is kept stays.
  std::size_t prepared_requests = 256;
  std::chrono::milliseconds lock_wait{30000};  // for another process that compiles the same key
  EventSink on_event;
  FileSystem* files = &system_files();  // the disk below the cache
  std::optional<Error> wrong;           // a variable that makes no sense: create() returns it

  static RuntimeOptions from_environment();
};

// After freeze() a compile or a device load is an error or, with `warn`, a `late` event.
enum class Late : std::uint8_t { error, warn };

// An artifact and how this call came by it.
struct Resolved {
  enum class Origin : std::uint8_t { memory, disk, compiled };
  std::shared_ptr<const Artifact> artifact;
  Origin origin = Origin::memory;
};

struct TuneRequest;   // tuner.h
struct TunedPoint;    // tuner.h
struct TuningRecord;  // tuning/record.h

// A runtime keeps the artifacts that it has resolved and the kernels that it has preloaded in
// memory for as long as it lives.
class Runtime {
 public:
  // A cache root that cannot be used is one `degraded` event, not an error: everything works
  // without. Errors: invalid_argument, and what reading template_directory and the folders of
  // `include` gives.
  static Result<std::shared_ptr<Runtime>> create(
      RuntimeOptions options = RuntimeOptions::from_environment());
  ~Runtime();

  // ---- templates ----
  // Adds a template of the caller; the file's name without ".cu" is the kernel's symbol. Adding
  // the same text again is fine; another text under a known name is an error (file_exists).
  Result<std::shared_ptr<const Template>> add(const std::string& path);
  // The same for a text that is in no file.
  Result<std::shared_ptr<const Template>> add_text(std::string_view name, std::string_view text);
  // Adds a header of the caller, which templates include as <name>: "my/common.h". It is inlined
  // like a device header and part of the key. Adding the same text again is fine. Errors:
  // invalid_argument (no such name), file_not_found, io_error, file_exists (another text under that
  // name).
  Result<void> add_header(const std::string& name, const std::string& path);
  Result<std::shared_ptr<const Template>> find_template(std::string_view name);
  std::vector<std::string> template_names() const;  // built-in and added, sorted

  // ---- from template to artifact: no GPU, no driver ----
  Result<Specialization> specialize(std::string_view name, const Bindings& bindings,
                                    const Target& target);
  Result<Specialization> specialize(std::string_view spelling);  // "NAME A=1 B=x @ sm_90a"
  Result<Source> render(const Specialization& specialization);
  // Says whether resolve() would find it in memory or in the cache. It compiles and publishes
  // nothing.
  Result<bool> holds(const Specialization& specialization);
  // Gets the artifact from memory or from the cache, or compiles it (once, however many threads and
  // processes ask). Publishing goes on after the return; if 64 artifacts are waiting for a slow
  // disk, it is left out and counted (publishes_skipped). Errors: not_cached (require_hit), frozen,
  // compiler_unavailable, compile_failed, target_not_supported, out_of_memory, io_error (no
  // descriptor or process is left to compile with); isolated: timed_out, process_failed. A child
  // that was forked while NVRTC compiled gets only what is in memory or in the cache; any other
  // forked child is like its parent.
  Result<Resolved> resolve(const Specialization& specialization);
  // Waits until everything compiled so far is published. The destructor does so too.
  void flush();
  // Returns the artifact's key, under which the cache files it.
  Result<ArtifactKey> key(const Specialization& specialization);

  // ---- from artifact to kernel ----
  // Resolves, and makes the code resident in the device's current context. Cached code that the
  // device refuses is compiled again, once, and its entry replaced. Specializations that differ in
  // launch tunes alone are kernels of their own, of one artifact.
  Result<std::shared_ptr<Kernel>> preload(const Specialization& specialization,
                                          const std::shared_ptr<Device>& device);
  // Preloads all of them and returns the kernels in order, or the first error. If they are many, a
  // few threads resolve while this one makes code resident, so that a server is ready as soon as
  // the device has its code.
  Result<std::vector<std::shared_ptr<Kernel>>> preload(
      std::span<const Specialization> specializations, const std::shared_ptr<Device>& device);
  // Specializes for the best target of the device that the template supports and that a compiler or
  // the cache can serve; if nothing can be compiled for a target, the cache is asked. Tunes that
  // the bindings leave out come from tuning records of this device, else they are the defaults.
  Result<Specialization> specialize_for(std::string_view name, const Bindings& bindings,
                                        Device& device);
  // The same of a spelling without a target: "scale_rows IN=bf16". Errors: also parse_error,
  // invalid_argument (a target), value_not_allowed (several values).
  Result<Specialization> specialize_for(std::string_view spelling, Device& device);
  // Returns the CUDA device of the calling thread's context, or device 0. Errors:
  // driver_unavailable, no_device; the fix names the host device, which is never chosen silently.
  Result<std::shared_ptr<Device>> default_device();

  // ---- tuning: see tuner.h ----
  // Runs and times every configuration of the request's kernel. Returns the records and those known
  // before, each configuration once. Errors: whatever keeps the default configuration from running;
  // value_missing, not_supported (the header does not tell how to make an argument).
  Result<std::vector<TuningRecord>> tune(const TuneRequest& request,
                                         const std::shared_ptr<Device>& device);
  // Adds records to choose from, beside those of RuntimeOptions::tuning. They count for what is
  // specialized and preloaded from here on. A record that breaks its template's tune space is an
  // `ignored` event.
  void add_tuning(std::vector<TuningRecord> records);
  // Returns what specialize_for would choose on each device that has records, if the bindings
  // `given` leave tunes out. Warming builds these besides the default, without that device.
  std::vector<Specialization> tuned_variants(const Specialization& plain, const Bindings& given);
  // Returns the fastest configuration at each measured size by the records of this device, if the
  // bindings leave tunes out; empty if there are no records. It chooses among kernels that can be
  // had: those in the cache, if nothing may be compiled. Errors: those of specialize_for().
  Result<std::vector<TunedPoint>> tuned_points(std::string_view name, const Bindings& bindings,
                                               Device& device);
  // Returns what tuned_points() chooses on each device that has records. Warming builds these
  // besides, for a target and without that device. Errors: those of find_template() and
  // Specialization::make().
  Result<std::vector<Specialization>> tuned_point_variants(std::string_view name,
                                                           const Bindings& bindings,
                                                           const Target& target);
  // Returns a digest of the kernels preloaded here and their launch tunes, whatever their order.
  // Ranks with equal digests run the same kernels.
  std::string selection_digest() const;

  // From now on a compile or a device load is an error or, with Late::warn, an event. Launches go
  // on.
  void freeze(Late late = Late::error);
  bool frozen() const;

  // ---- what it knows about itself ----
  Result<std::shared_ptr<Compiler>> compiler(const Target& target);  // opened on first use
  CacheRoots* cache() const;                                         // null when off
  std::string cache_state() const;  // the roots, those left out too; or why there is none
  const std::vector<RefusedRoot>& refused_roots() const;  // those left out
  // Returns the first 64 events that are notices (event.h): roots that are left out or not written,
  // tuning records that are not used, kernels that came late.
  std::vector<RuntimeEvent> notices() const;
  // The destructor adds these, and those of its writable root, to the sums kept in that root
  // (DiskCache::counts). A process that is killed, or a forked child, adds nothing.
  RuntimeCounters counters() const;

  // Prepared ops of the convenience calls, by device and request; see ops/prepared.h. As long as
  // the runtime lives. Finding takes no lock; of several that are kept, all get the first.
  const void* find_prepared(const PreparedKey& key) const;
  const void* keep_prepared(const PreparedKey& key, std::shared_ptr<const void> prepared);
  // Whether RuntimeOptions::prepared_requests of this kind of op are kept.
  bool keeps_enough(const PreparedKey& key) const;

 private:
  // As specialize_for(), with tunes that the bindings leave out as standard_configuration() has
  // them.
  Result<Specialization> standard_for(std::string_view name, const Bindings& bindings,
                                      Device& device);

  struct State;
  explicit Runtime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace diecast
