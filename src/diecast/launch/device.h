// The interface of devices: memory, streams, events, making machine code resident, launching.
// Implementations: cuda_device.h (the CUDA driver), host_device.h (this machine's processor, work
// done in order before the call returns). Any number of threads may call one device at the same
// time.
#pragma once

#include <diecast/base/error.h>
#include <diecast/compile/artifact.h>
#include <diecast/template/target.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace diecast {

class Driver;

// A stream of the device. For CUDA it is the caller's CUstream, or null for the legacy default
// stream; for the host it is always null.
struct Stream {
  void* handle = nullptr;
  // The context_id of the stream's context, or 0 if it is not known. Only Device::create_stream and
  // Device::prepare_stream set it. A launch then goes to that context without asking the driver
  // which one is current; copies and fills, which some ops make too, still need it to be current.
  std::uint64_t context = 0;
};

struct Event {
  void* handle = nullptr;
};

struct DeviceProperties {
  std::string name;
  int ordinal = 0;
  int cc = 0;                         // compute capability times ten; 0 for the host
  int sm_count = 1;                   // multiprocessors; the host: worker threads
  std::int64_t shared_optin = 49152;  // bytes of shared memory a block may ask for
  int max_threads = 1024;             // a block
  std::int64_t memory_bytes = 0;
  int driver_version = 0;  // cuDriverGetVersion's form (13000); 0 for the host
};

struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::uint32_t cluster = 0;  // 0: none
  bool cooperative = false;
  bool dependent = false;  // programmatic dependent launch
};

// The most that launches of a code will ask for. Loading the code makes the driver allow what goes
// beyond its defaults.
struct LaunchNeeds {
  std::uint32_t shared_bytes = 0;  // dynamic
  std::uint32_t cluster = 0;       // blocks; 0: none
  std::size_t parameters = 0;      // which a launch passes
};

// Machine code that is resident in one context. The owner keeps it alive while it is launched.
class ResidentCode {
 public:
  virtual ~ResidentCode() = default;
  // The bytes of each kernel parameter in the machine code, of those that a launch passes; none if
  // they are not known.
  virtual std::optional<std::vector<std::size_t>> parameter_bytes() const { return std::nullopt; }
};

// Machine code that the device's driver has read, for all contexts. It is never unloaded.
class ReadCode {
 public:
  virtual ~ReadCode() = default;
};

// The code of one kernel in each context that it is resident in. Readers never wait. Nothing is
// ever taken out, because a context's id is never used again and code is never unloaded.
class ResidentList {
 public:
  ResidentList() = default;
  ResidentList(const ResidentList&) = delete;
  ResidentList& operator=(const ResidentList&) = delete;
  ~ResidentList() {
    for (const Entry* entry = first_.load(); entry;) delete std::exchange(entry, entry->next);
  }

  bool empty() const { return first_.load(std::memory_order_acquire) == nullptr; }
  // `context` is an id of Device::context_id. Null if the kernel is not resident there.
  const ResidentCode* find(std::uint64_t context) const {
    for (const Entry* entry = first_.load(std::memory_order_acquire); entry; entry = entry->next)
      if (entry->context == context) return entry->code.get();
    return nullptr;
  }
  // Only one thread at a time may add.
  void add(std::uint64_t context, std::shared_ptr<ResidentCode> code) {
    const Entry* next = first_.load(std::memory_order_relaxed);
    first_.store(new Entry{context, std::move(code), next}, std::memory_order_release);
  }

 private:
  struct Entry {
    std::uint64_t context;
    std::shared_ptr<ResidentCode> code;
    const Entry* next;
  };
  std::atomic<const Entry*> first_ = nullptr;
};

// Calls on a stream that were captured and can be repeated.
class RepeatedCalls {
 public:
  virtual ~RepeatedCalls() = default;
  virtual Result<void> repeat() = 0;  // makes them once more, in the stream's order
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;
  // The targets that this device runs, best first.
  virtual std::vector<Target> targets() const = 0;
  // Returns the id of the context that work goes to now (cuCtxGetId). No later context gets the
  // same id, so handles of a dead one are never used.
  virtual Result<std::uint64_t> context_id() = 0;

  // Allocates device memory. 0 bytes give null, which free takes too. Errors: out_of_memory.
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  virtual Result<void> free(void* memory) = 0;
  // Copies and fills run in the stream's order and may not be done on return: leave host memory as
  // it is until synchronize().
  virtual Result<void> copy_to_device(void* to, const void* from, std::size_t bytes,
                                      Stream stream) = 0;
  virtual Result<void> copy_to_host(void* to, const void* from, std::size_t bytes,
                                    Stream stream) = 0;
  virtual Result<void> copy_on_device(void* to, const void* from, std::size_t bytes,
                                      Stream stream) = 0;
  virtual Result<void> fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream stream) = 0;

  virtual Result<Stream> create_stream() = 0;  // prepared
  // Returns the caller's stream with its context filled in, which saves each launch a question to
  // the driver. The result is good for as long as the stream lives. A default stream belongs to
  // every context and is returned as it is. Errors: driver_error (no stream), invalid_argument (a
  // stream of another device).
  virtual Result<Stream> prepare_stream(Stream stream) { return stream; }
  virtual Result<void> destroy_stream(Stream stream) = 0;
  virtual Result<void> synchronize(Stream stream) = 0;
  virtual Result<bool> is_capturing(Stream stream) = 0;
  // Captures the work that `calls` enqueues on the stream (not a default one) as one CUDA graph.
  // `calls` may neither query the stream nor wait for it. Nothing runs before repeat(). On the
  // host, which has no graphs, repeat() makes the calls again. Errors: those of `calls` and of the
  // capture.
  virtual Result<std::unique_ptr<RepeatedCalls>> capture(Stream stream,
                                                         std::function<Result<void>()> calls);

  virtual Result<Event> create_event() = 0;
  virtual Result<void> destroy_event(Event event) = 0;
  virtual Result<void> record(Event event, Stream stream) = 0;
  virtual Result<double> elapsed_ms(Event from, Event to) = 0;  // milliseconds; waits for both

  // Does the first step of load(), which needs no context: the driver reads the code. It returns
  // null if the device has no such step. Errors: those of load().
  virtual Result<std::shared_ptr<ReadCode>> read(const Artifact&) {
    return std::shared_ptr<ReadCode>();
  }
  // Makes code resident now (on a busy GPU this waits until the GPU is idle); afterwards a launch
  // loads nothing. `code` is what read() gave, or null.
  virtual Result<std::shared_ptr<ResidentCode>> load(const Artifact& artifact,
                                                     const LaunchNeeds& needs,
                                                     const ReadCode* code) = 0;
  // Launches a kernel. `parameters` has a pointer to each of its parameters. The call allocates
  // nothing, takes no lock of ours and waits for nothing of ours.
  virtual Result<void> launch(const ResidentCode& code, const LaunchShape& shape, void** parameters,
                              Stream stream) = 0;
  // Launches the code for the context that work goes to. Further errors: not_resident (there is no
  // code for it).
  virtual Result<void> launch_resident(const ResidentList& codes, const LaunchShape& shape,
                                       void** parameters, Stream stream);

  // Runs `call` while the context that work goes to is the calling thread's current one, for
  // libraries that work in the current context. Errors: those of `call` and of finding the context.
  virtual Result<void> in_context(const std::function<Result<void>()>& call) { return call(); }
  // The driver that a CUDA GPU was opened with; null of the host.
  virtual const Driver* cuda_driver() const { return nullptr; }

 protected:
  static Error not_resident();
};

// Refuses a null device, in functions that prepare for a device and have no default. Errors:
// invalid_argument.
Result<void> check_device(const std::shared_ptr<Device>& device);

}  // namespace diecast
