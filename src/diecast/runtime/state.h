// What a runtime holds, shared by the files that implement it. Each group has its own lock; none is
// held while a compiler, the disk or a device works, or while the owner's event sink runs.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/base/line_file.h>
#include <diecast/base/no_throw.h>
#include <diecast/runtime/prepared_table.h>
#include <diecast/runtime/publisher.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/tuning/choice.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace diecast {

// One artifact on its way: the first thread that asks makes it, the others wait for its outcome.
struct InFlight {
  const pid_t process = ::getpid();  // a forked child has not the thread that makes it
  std::mutex mutex;
  std::condition_variable done;
  bool landed = false;
  Result<Resolved> outcome = out_of_memory();  // unless the leader gets as far as saying it
};

// Keeps the events of this thread instead of telling them. While others wait for what it makes no
// sink may run on it: that could wait for what one of them makes, and neither would ever end.
class KeepEvents {
 public:
  explicit KeepEvents(std::vector<RuntimeEvent>& in) { kept = &in; }
  ~KeepEvents() { kept = nullptr; }
  KeepEvents(const KeepEvents&) = delete;
  static inline thread_local std::vector<RuntimeEvent>* kept = nullptr;
};

// Opened once, on first use; its error is remembered too, but for what was missing for the moment.
struct LazyCompiler {
  LongMutex mutex;  // a child forked meanwhile opens it itself
  std::optional<Result<std::shared_ptr<Compiler>>> compiler;
};

struct Runtime::State {
  ~State();

  const pid_t process = ::getpid();  // a forked child has its parent's counts
  RuntimeOptions options;
  TemplateFiles files;
  std::unique_ptr<CacheRoots> cache;
  std::string cache_state;
  std::vector<RefusedRoot> refused_roots;
  std::atomic<bool> frozen{false};
  std::atomic<Late> late{Late::error};
  std::atomic<bool> told_unwritten{false}, told_untraced{false};
  LineFile trace;

  mutable ForkSafe<std::shared_mutex> templates_mutex;
  std::map<std::string, std::shared_ptr<const Template>, std::less<>> templates;

  ForkSafe<std::mutex> parts_mutex;
  std::map<std::shared_ptr<const Template>, std::shared_ptr<const SourceParts>> parts;

  // What it is known by here: templates of one name whose texts differ give the same spelling.
  struct Name {
    std::string spelling;
    Digest text;
    static Name of(const Specialization& specialization) {
      return {specialization.spelling(), specialization.tmpl().text_digest()};
    }
    auto operator<=>(const Name&) const = default;
  };
  ForkSafe<std::mutex> artifacts_mutex;
  std::map<Name, std::shared_ptr<const Artifact>> artifacts;
  std::map<Name, std::shared_ptr<InFlight>> in_flight;

  // One artifact is as many kernels as there are launch tunes it is preloaded with.
  struct KernelName {
    Name name;
    std::string tunes;
    std::shared_ptr<Device> device;
    auto operator<=>(const KernelName&) const = default;
  };
  ForkSafe<std::mutex> kernels_mutex;
  std::map<KernelName, std::shared_ptr<Kernel>> kernels;

  PreparedTable prepared;

  struct TemplateTuning {
    std::vector<TuningRecord> unchecked, checked;  // checked: each key once
  };
  mutable ForkSafe<std::mutex> tuning_mutex;
  std::map<std::string, TemplateTuning, std::less<>> tuning;  // by template
  // Launches chosen, by spelling and tunes of what was preloaded.
  std::map<std::pair<std::string, std::string>, std::string> selected;
  std::atomic<bool> tunes_known{false};

  LazyCompiler nvrtc, host_cxx;
  std::mutex device_mutex;
  std::map<int, std::shared_ptr<Device>> cuda_devices;

  struct {
    std::atomic<std::uint64_t> rendered{0}, memory_hits{0}, disk_hits{0}, compiled{0}, failed{0},
        published{0}, loaded{0}, waited{0}, late{0}, refused{0}, pruned{0}, ignored{0}, degraded{0};
  } count;

  class Landing;
  // What neither the sink nor the memory takes is dropped.
  void tell(RuntimeEvent event) const;
  void tell(RuntimeEvent::Kind kind, std::string spelling, std::string detail, double ms) const {
    tell({kind, std::move(spelling), std::move(detail), ms});
  }
  Result<void> open_cache();
  Result<std::shared_ptr<const SourceParts>> parts_of(const Specialization& specialization);
  Result<void> open_trace();
  void open_tuning();
  void add_tuning(std::vector<TuningRecord> records);
  void ignore(std::string detail);
  // The records of its kernel, each key once, on the device of this fingerprint; empty: on all.
  std::vector<TuningRecord> records_of(const Specialization& specialization,
                                       const std::string& device);
  // Whether what the cache lacks can be compiled; else the records of kernels that it has stay.
  bool builds_for(Runtime& runtime, const Target& target);
  void keep_held(Runtime& runtime, const Specialization& plain, std::vector<TuningRecord>& records);
  // With the tunes that records choose, where the bindings have none.
  Result<Specialization> specialize_tuned(const std::shared_ptr<const Template>& tmpl,
                                          const Bindings& bindings, const Target& target,
                                          const Device& device);
  std::vector<TunedLaunch> tuned_launches(const Specialization& specialization,
                                          const Device& device);

  // What one artifact needs on its way. `refused`: code that a device did not take, or null.
  struct Request {
    const Specialization& specialization;
    const Source& source;
    const ArtifactKey& key;
    const Result<std::shared_ptr<Compiler>>& compiler;
    const Artifact* refused;
    std::string identity() const { return compiler ? (*compiler)->identity() : std::string(); }
  };
  Result<Resolved> resolve(Runtime& runtime, const Specialization& specialization,
                           const Artifact* refused);
  Result<Resolved> lead(Runtime& runtime, const Specialization& specialization, const Name& name,
                        const Artifact* refused, InFlight& flight);
  Result<Resolved> make_artifact(Runtime& runtime, const Specialization& specialization,
                                 const Artifact* refused);
  // The compiler that may be used for a target, if there is one.
  Result<std::shared_ptr<Compiler>> compiler_for(Runtime& runtime, const Target& target);
  void write_trace(const std::string& spelling);
  // Whether it is in memory or in the cache; then it is in memory.
  Result<bool> holds(Runtime& runtime, const Specialization& specialization);
  std::shared_ptr<const Artifact> look(const Request& request);
  Result<Resolved> look_and_compile(const Request& request);
  // What a miss is, and where a bundle has the kernel damaged that instead of how to make it.
  Error or_damage(const Request& request, Error error) const;
  Result<Resolved> compile_and_publish(const Request& request, DiskCache::Lock lock);
  Result<Artifact> compile(const Request& request) const;
  void publish(Publication publication);
  void prune_if_due(DiskCache& root);
  RuntimeCounters counters() const;
  void leave_counts() const;  // to those of the root
  // The kernel under a name: the one there already, unless that is `refused`.
  std::shared_ptr<Kernel> keep(const KernelName& name, std::shared_ptr<Kernel> made,
                               const Kernel* refused);
  // A kernel that may be not resident yet; `fresh`: compiled just now.
  struct Made {
    KernelName name;
    std::shared_ptr<Kernel> kernel;
    bool fresh = false;
  };
  Result<Made> make_kernel(Runtime& runtime, const Specialization& specialization,
                           const std::shared_ptr<Device>& device);
  Result<std::shared_ptr<Kernel>> make_resident(Runtime& runtime, Made made);
  // False: another thread has loaded it meanwhile.
  Result<bool> load(Runtime& runtime, const KernelName& name, std::shared_ptr<Kernel>& kernel);
  Result<void> allow_late(const std::string& spelling, std::string_view missing);

  // Left behind in a forked child, where its end would wait for threads that are not there.
  std::unique_ptr<Publisher> publisher = std::make_unique<Publisher>(
      [this](Publication publication) { publish(std::move(publication)); });
};

}  // namespace diecast
