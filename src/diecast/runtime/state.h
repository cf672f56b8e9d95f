// What a runtime holds, shared by the files that implement it. Each group has its own lock; none is
// held while a compiler, the disk or a device works, or while the owner's event sink runs.
#pragma once

#include <diecast/runtime/publisher.h>
#include <diecast/runtime/runtime.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

namespace diecast {

// One artifact on its way: the first thread that asks makes it, the others wait for its outcome.
struct InFlight {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Result<Resolved>> outcome;
};

// Opened once, on first use; its error is remembered too.
struct LazyCompiler {
  std::once_flag once;
  std::optional<Result<std::shared_ptr<Compiler>>> compiler;
};

struct Runtime::State {
  RuntimeOptions options;
  TemplateFiles files;
  std::unique_ptr<CacheRoots> cache;
  std::string cache_state;
  std::atomic<bool> frozen{false};
  std::atomic<Late> late{Late::error};
  std::atomic<bool> told_unwritten{false};
  Descriptor trace;

  mutable std::shared_mutex templates_mutex;
  std::map<std::string, std::shared_ptr<const Template>, std::less<>> templates;

  std::mutex artifacts_mutex;
  std::map<std::string, std::shared_ptr<const Artifact>, std::less<>> artifacts;  // by spelling
  std::map<std::string, std::shared_ptr<InFlight>, std::less<>> in_flight;

  std::mutex kernels_mutex;
  using KernelName = std::pair<std::string, std::shared_ptr<Device>>;
  std::map<KernelName, std::shared_ptr<Kernel>> kernels;

  mutable std::shared_mutex prepared_mutex;
  std::map<std::pair<const Device*, std::uint64_t>, std::shared_ptr<void>> prepared;

  LazyCompiler nvrtc, host_cxx;
  std::mutex device_mutex;
  std::map<int, std::shared_ptr<Device>> cuda_devices;

  struct {
    std::atomic<std::uint64_t> rendered{0}, memory_hits{0}, disk_hits{0}, compiled{0}, failed{0},
        published{0}, loaded{0}, waited{0}, late{0}, refused{0}, pruned{0};
  } count;

  void tell(RuntimeEvent::Kind kind, std::string spelling, std::string detail, double ms) const;
  Result<void> open_cache();
  Result<void> open_trace();

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
  Result<Resolved> make_artifact(Runtime& runtime, const Specialization& specialization,
                                 const Artifact* refused);
  std::shared_ptr<const Artifact> look(const Request& request);
  Result<Resolved> look_and_compile(const Request& request);
  Result<Resolved> compile_and_publish(const Request& request, DiskCache::Lock lock);
  Result<Artifact> compile(const Request& request) const;
  void publish(const Publication& publication);
  void prune_if_due();
  // The kernel under a name: the one there already, unless that is `refused`.
  std::shared_ptr<Kernel> keep(const KernelName& name, std::shared_ptr<Kernel> made,
                               const Kernel* refused);
  Result<void> load(Runtime& runtime, const KernelName& name, std::shared_ptr<Kernel>& kernel);
  Result<void> allow_late(const std::string& spelling, std::string_view missing);

  Publisher publisher{[this](const Publication& publication) { publish(publication); }};
};

}  // namespace diecast
