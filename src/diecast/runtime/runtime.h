// The runtime owns the line from template to kernel and nothing else:
//
//   specialize -> render -> (cache) -> compile -> preload -> launch
//
// Building and becoming resident are separate calls, because on a busy GPU making code resident
// waits until the GPU is idle: resolve may compile, preload may wait for the GPU, a launch does
// neither, and after freeze a late compile or load is an error that names the kernel.
// Making a runtime opens no compiler, no driver and starts no thread. All calls are thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <diecast/base/error.h>
#include <diecast/cache/disk_cache.h>
#include <diecast/compile/compiler.h>
#include <diecast/compile/host_cxx.h>
#include <diecast/compile/nvrtc.h>
#include <diecast/launch/device.h>
#include <diecast/launch/kernel.h>
#include <diecast/runtime/event.h>
#include <diecast/template/embedded.h>
#include <diecast/template/source.h>
#include <diecast/template/specialization.h>

namespace diecast {

struct RuntimeOptions {
  std::string template_directory;  // DIECAST_TEMPLATE_DIR; empty: the embedded templates
  std::string cache;               // DIECAST_CACHE: "off", or a directory; empty: the default root
  NvrtcSearch nvrtc;
  HostCxxOptions host_cxx;
  std::chrono::milliseconds lock_wait{30000};  // for another process that compiles the same key
  EventSink on_event;

  static RuntimeOptions from_environment();
};

// An artifact and how this call came by it.
struct Resolved {
  enum class Origin : std::uint8_t { memory, disk, compiled };
  std::shared_ptr<const Artifact> artifact;
  Origin origin = Origin::memory;
};

class Runtime {
 public:
  // A cache root that cannot be used is one `degraded` event, not an error: everything works
  // without. Errors: invalid_argument, and what reading template_directory gives.
  static Result<std::shared_ptr<Runtime>> create(RuntimeOptions options = RuntimeOptions::from_environment());
  ~Runtime();

  // ---- templates ----
  // A template of the caller's own: the file's name without ".cu" is the kernel's symbol. Adding the
  // same text again is fine; another text under a known name is an error (file_exists).
  Result<std::shared_ptr<const Template>> add(const std::string& path);
  Result<std::shared_ptr<const Template>> find_template(std::string_view name);
  std::vector<std::string> template_names() const;  // built-in and added, sorted

  // ---- from template to artifact: no GPU, no driver ----
  Result<Specialization> specialize(std::string_view name, const Bindings& bindings, const Target& target);
  Result<Specialization> specialize(std::string_view spelling);  // "NAME A=1 B=x @ sm_90a"
  Result<Source> render(const Specialization& specialization);
  // From memory, from the disk cache, or compiled and published (once, however many threads and
  // processes ask). Errors: frozen, compiler_unavailable, compile_failed, target_not_supported.
  Result<Resolved> resolve(const Specialization& specialization);

  // ---- from artifact to kernel ----
  // Resolves, and makes the code resident in the device's current context.
  Result<std::shared_ptr<Kernel>> preload(const Specialization& specialization,
                                          const std::shared_ptr<Device>& device);
  // The best target of the device that the template supports and a compiler or the cache can serve.
  Result<Specialization> specialize_for(std::string_view name, const Bindings& bindings, Device& device);
  // The CUDA device of the calling thread's context, or device 0. Errors: driver_unavailable,
  // no_device; the fix names the host device, which is never chosen silently.
  Result<std::shared_ptr<Device>> default_device();

  // From here a compile or a device load is an error. Launches go on.
  void freeze();
  bool frozen() const;

  // ---- what it knows about itself ----
  Result<std::shared_ptr<Compiler>> compiler(const Target& target);  // opened on first use
  DiskCache* disk_cache() const;       // null when off
  std::string cache_state() const;     // the root, or why there is none
  RuntimeCounters counters() const;

  // Prepared ops of the convenience calls, by device and request; see ops/prepared.h.
  std::shared_ptr<void> find_prepared(const Device* device, std::uint64_t request) const;
  void keep_prepared(const Device* device, std::uint64_t request, std::shared_ptr<void> prepared);

 private:
  struct State;
  explicit Runtime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace diecast
