// Memory, events and launches on this machine's processor. A launch shares its blocks out by one
// counter; every thread that takes part borrows a block machine, whose stacks outlive the launch.
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>

#include <cstdlib>
#include <limits>

#if defined(DIECAST_HAS_HOST_DEVICE)

#include <diecast/base/library.h>
#include <diecast/base/machine.h>
#include <diecast/launch/block_machine.h>
#include <diecast/launch/host/launch_job.h>
#include <diecast/launch/host/thread_pool.h>
#include <diecast/launch/open_devices.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

namespace diecast {
namespace {

constexpr std::size_t kAlignment = 256;  // what CUDA's allocations have

using Clock = std::chrono::steady_clock;
using Moment = std::optional<Clock::time_point>;

class HostCode final : public ResidentCode {
 public:
  HostCode(Library library, HostKernel kernel)
      : library_(std::move(library)), kernel_(std::move(kernel)) {}
  const HostKernel& kernel() const { return kernel_; }

 private:
  Library library_;
  HostKernel kernel_;
};

int best_host_level() { return has_avx2() ? 3 : 1; }

Target host_target(int level) {
  Target target;
  target.host_level = level;
  return target;
}

Result<void> check_stream(Stream stream) {
  if (stream.handle == nullptr) return {};
  return Error{ErrorCode::invalid_argument,
               "a stream of another device was given to the host device",
               "pass Stream{}: the host device works in order, before a call returns"};
}

Result<void> check_range(const void* to, const void* from, std::size_t bytes, Stream stream) {
  DIECAST_CHECK(check_stream(stream));
  if (bytes == 0 || (to && from)) return {};
  return Error{ErrorCode::missing_buffer,
               cat("a copy of ", bytes, " bytes ", to ? "from" : "to", " a null pointer"),
               "pass memory of Device::allocate"};
}

class HostDevice final : public Device {
 public:
  HostDevice(int threads, int level) : pool_(threads), level_(level) {
    static std::atomic<std::uint64_t> devices{0};
    context_id_ = ++devices;
    properties_.name = "host processor";
    properties_.sm_count = pool_.threads();
    // What an sm_90 has, so that the launch rules that ask for it choose the same kernels here.
    properties_.shared_optin = 232448;
    properties_.memory_bytes =
        static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  }

  const DeviceProperties& properties() const override { return properties_; }
  std::vector<Target> targets() const override {
    if (level_ >= 3) return {host_target(3), host_target(1)};
    return {host_target(1)};
  }
  Result<std::uint64_t> context_id() override { return context_id_; }

  // Beyond the machine's memory Linux would promise it, and end the process when it is used.
  Result<void*> allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (bytes == 0) return memory;
    if (bytes <= static_cast<std::uint64_t>(properties_.memory_bytes) &&
        posix_memalign(&memory, kAlignment, bytes) == 0)
      return memory;
    return Error{ErrorCode::out_of_memory,
                 cat("no host memory for ", bytes, " bytes (", human_bytes(bytes),
                     "); this machine has ", human_bytes(properties_.memory_bytes)),
                 "free memory, or work on smaller pieces"};
  }
  Result<void> free(void* memory) override {
    std::free(memory);
    return {};
  }
  Result<void> copy_to_device(void* to, const void* from, std::size_t bytes,
                              Stream stream) override {
    DIECAST_CHECK(check_range(to, from, bytes, stream));
    if (bytes != 0) std::memcpy(to, from, bytes);
    return {};
  }
  Result<void> copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) override {
    return copy_to_device(to, from, bytes, stream);
  }
  Result<void> copy_on_device(void* to, const void* from, std::size_t bytes,
                              Stream stream) override {
    return copy_to_device(to, from, bytes, stream);
  }
  Result<void> fill(void* memory, std::uint8_t byte, std::size_t bytes, Stream stream) override {
    DIECAST_CHECK(check_range(memory, this, bytes, stream));
    if (bytes != 0) std::memset(memory, byte, bytes);
    return {};
  }

  Result<Stream> create_stream() override { return Stream{}; }
  Result<void> destroy_stream(Stream stream) override { return check_stream(stream); }
  Result<void> synchronize(Stream stream) override { return check_stream(stream); }
  Result<bool> is_capturing(Stream stream) override {
    DIECAST_CHECK(check_stream(stream));
    return false;
  }

  Result<Event> create_event() override { return Event{new Moment}; }
  Result<void> destroy_event(Event event) override {
    delete static_cast<Moment*>(event.handle);
    return {};
  }
  Result<void> record(Event event, Stream stream) override {
    DIECAST_CHECK(check_stream(stream));
    if (!event.handle) return not_recorded();
    *static_cast<Moment*>(event.handle) = Clock::now();
    return {};
  }
  Result<double> elapsed_ms(Event from, Event to) override {
    const auto* begin = static_cast<const Moment*>(from.handle);
    const auto* end = static_cast<const Moment*>(to.handle);
    if (!begin || !end || !*begin || !*end) return not_recorded();
    return std::chrono::duration<double, std::milli>(**end - **begin).count();
  }

  Result<std::shared_ptr<ResidentCode>> load(const Artifact& artifact, const LaunchNeeds& needs,
                                             const ReadCode* code) override;
  Result<void> launch(const ResidentCode& code, const LaunchShape& shape, void** parameters,
                      Stream stream) override;

 private:
  static Error not_recorded() {
    return {ErrorCode::invalid_argument, "an event that was not created or not recorded",
            "call Device::create_event and Device::record first"};
  }
  Result<void> check_shared(std::uint32_t bytes) const;
  Result<void> check_shape(const LaunchShape& shape) const;

  ThreadPool pool_;
  MachinePool machines_;
  DeviceProperties properties_;
  int level_;
  std::uint64_t context_id_ = 0;
};

Result<void> HostDevice::check_shared(std::uint32_t bytes) const {
  if (bytes <= properties_.shared_optin) return {};
  return Error{ErrorCode::invalid_argument,
               cat("a block asks for ", bytes, " bytes of shared memory; it may have ",
                   properties_.shared_optin),
               cat("ask for at most ", properties_.shared_optin, " bytes")};
}

Result<std::shared_ptr<ResidentCode>> HostDevice::load(const Artifact& artifact,
                                                       const LaunchNeeds& needs, const ReadCode*) {
  DIECAST_CHECK(check_shared(needs.shared_bytes));
  const bool runs = artifact.kind == Artifact::Kind::shared_object && artifact.target.is_host() &&
                    artifact.target.host_level <= level_;
  if (!runs)
    return Error{
        ErrorCode::target_not_supported,
        cat("the host device cannot run ", artifact.symbol, " built for ", artifact.target.name()),
        cat("compile it for ", targets().front().name())};
  DIECAST_TRY(Library library, Library::open_bytes(artifact.payload, artifact.symbol));
  HostKernel kernel{library.function<void(HostBlock*, void**)>(artifact.symbol.c_str()),
                    artifact.symbol};
  if (!kernel.entry)
    return Error{ErrorCode::file_corrupt,
                 cat("the shared object of ", artifact.symbol, " has no symbol of that name"),
                 cat("remove its cache entry and compile ", artifact.symbol, " again")};
  return std::shared_ptr<ResidentCode>(
      std::make_shared<HostCode>(std::move(library), std::move(kernel)));
}

Result<void> HostDevice::check_shape(const LaunchShape& shape) const {
  if (shape.cooperative || shape.cluster != 0)
    return Error{ErrorCode::not_supported,
                 cat("the host device has no ", shape.cooperative ? "cooperative" : "cluster",
                     " launches: no block may wait for another"),
                 "leave `host` out of the template's target line, or launch it on a GPU"};
  const auto& [x, y, z] = shape.block;
  const std::uint64_t threads = std::uint64_t{x} * y * z;
  const auto limit = static_cast<std::uint64_t>(properties_.max_threads);
  if (x > limit || y > limit || z > limit || threads == 0 || threads > limit)
    return Error{ErrorCode::invalid_argument,
                 cat("a block of ", x, " x ", y, " x ", z, " threads; it may have 1 to ", limit),
                 cat("launch blocks of at most ", limit, " threads")};
  const auto& grid = shape.grid;
  if (grid[0] > std::numeric_limits<std::int32_t>::max() || grid[1] > 65535 || grid[2] > 65535)
    return Error{ErrorCode::invalid_argument,
                 cat("a grid of ", grid[0], " x ", grid[1], " x ", grid[2], " blocks"),
                 "keep the grid within 2147483647 x 65535 x 65535"};
  return check_shared(shape.shared_bytes);
}

Result<void> HostDevice::launch(const ResidentCode& code, const LaunchShape& shape,
                                void** parameters, Stream stream) {
  DIECAST_CHECK(check_stream(stream));
  DIECAST_CHECK(check_shape(shape));
  LaunchJob job(static_cast<const HostCode&>(code).kernel(), shape, parameters, machines_,
                pool_.threads());
  pool_.run(job.blocks(), [&job] { job.work(); });
  return job.result();
}

}  // namespace

Result<std::shared_ptr<Device>> open_host_device(const HostDeviceOptions& options) {
  constexpr int kMostThreads = 4096;
  if (options.threads < 0 || options.threads > kMostThreads)
    return Error{ErrorCode::invalid_argument,
                 options.wrong_threads.empty()
                     ? cat("the host device cannot have ", options.threads, " threads")
                     : cat("DIECAST_HOST_THREADS is ", quote(options.wrong_threads),
                           ", which is no number of threads"),
                 cat("set DIECAST_HOST_THREADS to 1 to ", kMostThreads, ", or to 0: one a core")};
  const int best = best_host_level();
  const int level = options.host_level == 0 ? best : options.host_level;
  if (level != 1 && level != 3)
    return Error{ErrorCode::invalid_argument, cat("there is no host level ", level),
                 "HostDeviceOptions::host_level is 0 (the best), 1 (host) or 3 (host_v3)"};
  if (level > best)
    return Error{ErrorCode::target_not_supported, "this processor has no AVX2, which host_v3 needs",
                 "use the target host"};
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads == 0 ? std::min(cores, kMostThreads) : options.threads;
  static auto& open = *new OpenDevices<std::pair<int, int>>;
  return open.get({threads, level}, [&]() -> Result<std::shared_ptr<Device>> {
    return std::shared_ptr<Device>(std::make_shared<HostDevice>(threads, level));
  });
}

}  // namespace diecast

#else

namespace diecast {

Result<std::shared_ptr<Device>> open_host_device(const HostDeviceOptions&) {
  return Error{ErrorCode::not_supported, "this diecast was built without the host device",
               "apt-get install libboost-context-dev, then configure and build diecast again"};
}

}  // namespace diecast

#endif

namespace diecast {

HostDeviceOptions HostDeviceOptions::from_environment() {
  HostDeviceOptions options;
  const std::string text = environment_variable("DIECAST_HOST_THREADS");
  if (text.empty()) return options;
  const auto number = parse_integer(text);
  const bool fits = number && *number >= 0 && *number <= std::numeric_limits<int>::max();
  options.threads = fits ? static_cast<int>(*number) : -1;
  if (!fits) options.wrong_threads = text;
  return options;
}

}  // namespace diecast
