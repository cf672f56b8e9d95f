// Measuring what the driver does; see selftest_device.h. A kernel that only waits keeps the GPU
// busy while a call is timed: whether the kernel is still running after it says whether the call
// waited.
#include "bench/selftest_device.h"

#include <diecast/base/text.h>
#include <diecast/launch/cuda/graph.h>
#include <diecast/tool/console.h>
#include <diecast/tool/spin.h>

#include <chrono>
#include <future>
#include <thread>

#include "bench/bench.h"

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTrials = 5;
constexpr double kBusyMs = 50;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Calls of one kind on a busy GPU.
struct Waits {
  int waited = 0, trials = 0;
  std::vector<double> ms;

  // "waited until the GPU was idle in 5 of 5 trials (49.1 ms)"
  std::string text() const {
    if (trials == 0) return "could not be measured: the GPU was idle before the call";
    const std::string took = cat(" (", fixed(median(ms), 3), " ms at the median)");
    return waited == 0
               ? cat("did not wait in ", trials, " trials", took)
               : cat("waited until the GPU was idle in ", waited, " of ", trials, " trials", took);
  }
};

class Probe {
 public:
  Probe(const SelftestDriver& driver, std::shared_ptr<Device> device)
      : driver_(driver), cuda_(driver.driver()), device_(std::move(device)) {}

  Result<void> open(Runtime& runtime) {
    DIECAST_TRY(spin_, Spin::open(runtime, device_));
    DIECAST_TRY(busy_, device_->create_stream());
    DIECAST_TRY(other_, device_->create_stream());
    return {};
  }

  Result<std::vector<DeviceFact>> facts() {
    DIECAST_CHECK(measure_loads());
    DIECAST_CHECK(measure_captures());
    return std::move(facts_);
  }

 private:
  // Code of the same kernel that the driver does not know yet.
  struct Fresh {
    cuda::LibraryHandle* library = nullptr;
    cuda::FunctionHandle* function = nullptr;
  };

  Result<void> spin(Stream stream, double ms) const {
    return spin_.run(static_cast<std::int64_t>(ms * 1e6), stream);
  }
  Result<void> idle() const {
    DIECAST_CHECK(device_->synchronize(busy_));
    return device_->synchronize(other_);
  }
  bool busy() const { return driver_.cuStreamQuery(native(busy_)) == cuda::not_ready; }
  static cuda::StreamHandle* native(Stream stream) {
    return static_cast<cuda::StreamHandle*>(stream.handle);
  }

  // Times a call while the GPU is busy.
  template <class Call>
  Result<void> on_busy(Waits& waits, const Call& call) const {
    const bool before = busy();
    const auto start = Clock::now();
    DIECAST_CHECK(call());
    const double ms = milliseconds_since(start);
    if (!before) return {};
    ++waits.trials;
    waits.waited += !busy();
    waits.ms.push_back(ms);
    return {};
  }

  cuda::Result load_library(Fresh& fresh) const {
    return cuda_.cuLibraryLoadData(&fresh.library, spin_.artifact().payload.data(), nullptr,
                                   nullptr, 0, nullptr, nullptr, 0);
  }
  cuda::Result make_resident(Fresh& fresh) const {
    cuda::KernelHandle* kernel = nullptr;
    const char* symbol = spin_.artifact().symbol.c_str();
    if (const auto code = cuda_.cuLibraryGetKernel(&kernel, fresh.library, symbol)) return code;
    if (const auto code = cuda_.cuKernelGetFunction(&fresh.function, kernel)) return code;
    return cuda_.cuFuncLoad != nullptr ? cuda_.cuFuncLoad(fresh.function) : cuda::success;
  }
  Result<void> check(cuda::Result code, const char* doing) const {
    return driver_.check(code, "the driver", doing);
  }

  // While this thread makes code resident, another one launches what is resident already.
  Result<void> beside_a_launch(Waits& residency, Fresh& fresh, double& launch_ms) const {
    Result<void> launched;
    std::promise<void> ready;
    std::thread other([&] {
      CurrentContext current(cuda_);
      launched = current.push(driver_.context());
      ready.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the call is under way
      const auto start = Clock::now();
      if (launched) launched = spin(other_, 0);
      launch_ms = milliseconds_since(start);
    });
    ready.get_future().wait();
    const Result<void> made =
        on_busy(residency, [&] { return check(make_resident(fresh), "making code resident"); });
    other.join();
    DIECAST_CHECK(made);
    return launched;
  }

  Result<void> measure_loads() {
    Waits loads, residency, first_launch, unloads;
    std::vector<double> beside;
    bool resident = true;
    for (int trial = 0; trial < kTrials; ++trial) {
      Fresh fresh;
      double launch_ms = 0;
      DIECAST_CHECK(spin(busy_, kBusyMs));
      DIECAST_CHECK(on_busy(loads, [&] { return check(load_library(fresh), "loading code"); }));
      DIECAST_CHECK(beside_a_launch(residency, fresh, launch_ms));
      beside.push_back(launch_ms);
      resident = resident && is_resident(fresh);
      DIECAST_CHECK(idle());
      DIECAST_CHECK(spin(busy_, kBusyMs));
      DIECAST_CHECK(on_busy(first_launch, [&] { return check(launch(fresh), "launching"); }));
      DIECAST_CHECK(idle());
      DIECAST_CHECK(spin(busy_, kBusyMs));
      DIECAST_CHECK(on_busy(unloads, [&] {
        return check(driver_.cuLibraryUnload(fresh.library), "unloading code");
      }));
      DIECAST_CHECK(idle());
    }
    add("loading on a busy GPU", cat("reading code into the driver ", loads.text()));
    add("making resident on a busy GPU", cat("making it resident ", residency.text(), ", ",
                                             fixed(kBusyMs, 0), " ms of work being under way"));
    add("another thread's launch meanwhile",
        cat("a launch of resident code by another thread took ", fixed(median(beside), 3),
            " ms at the median"));
    rely("residency", resident,
         resident ? "code that was made resident is loaded before its first launch"
                  : "code that was made resident is not loaded before its first launch");
    rely("a launch of resident code on a busy GPU", first_launch.waited == 0,
         cat("its first launch ", first_launch.text()));
    add("unloading on a busy GPU", cat("unloading ", unloads.text()));
    return {};
  }

  bool is_resident(const Fresh& fresh) const {
    if (cuda_.cuFuncIsLoaded == nullptr) return true;  // before 12.4 asking for it loaded it
    int state = 0;
    return cuda_.cuFuncIsLoaded(&state, fresh.function) == cuda::success &&
           state == cuda::function_loaded;
  }
  cuda::Result launch(const Fresh& fresh) const {
    std::int64_t ns = 0;
    void* parameters[] = {&ns};
    return cuda_.cuLaunchKernel(fresh.function, 1, 1, 1, 32, 1, 1, 0, native(other_), parameters,
                                nullptr);
  }

  // What a call returns while a stream captures in this mode, and whether the capture survives.
  template <class Call>
  Result<void> in_capture(const std::string& what, int mode, const Call& call) {
    DIECAST_CHECK(check(cuda_.cuStreamBeginCapture(native(other_), mode), "capturing"));
    const cuda::Result returned = call();
    cuda::GraphHandle* graph = nullptr;
    const cuda::Result ended = cuda_.cuStreamEndCapture(native(other_), &graph);
    if (graph != nullptr) DIECAST_CHECK(check(cuda_.cuGraphDestroy(graph), "giving back a graph"));
    const std::string said = returned == cuda::success
                                 ? std::string("was done")
                                 : cat("returned ", cuda_.code_name(returned));
    add(what, cat(said, ended == cuda::success
                            ? ", and the capture went on"
                            : cat(", and the capture was broken: ", cuda_.code_name(ended))));
    return {};
  }

  Result<void> measure_captures() {
    const std::pair<const char*, int> modes[] = {{"global", cuda::capture_global},
                                                 {"thread-local", cuda::capture_thread_local},
                                                 {"relaxed", cuda::capture_relaxed}};
    for (const auto& [name, mode] : modes) {
      Fresh loaded, to_unload;
      DIECAST_CHECK(check(load_library(to_unload), "loading code"));
      DIECAST_CHECK(check(make_resident(to_unload), "making code resident"));
      DIECAST_CHECK(in_capture(cat("loading while capturing, mode ", name), mode, [&] {
        const cuda::Result code = load_library(loaded);
        return code == cuda::success ? make_resident(loaded) : code;
      }));
      DIECAST_CHECK(in_capture(cat("unloading while capturing, mode ", name), mode,
                               [&] { return driver_.cuLibraryUnload(to_unload.library); }));
      DIECAST_CHECK(rely_on_capture(name, mode));
    }
    return {};
  }

  Result<void> rely_on_capture(const char* name, int mode) {
    DIECAST_TRY(const auto cuda, Driver::shared());
    const auto graph = capture_graph(
        cuda, other_, [&] { return spin(other_, 0); }, mode);
    Result<void> replayed = graph ? (*graph)->repeat() : Result<void>(graph.error());
    if (replayed) replayed = device_->synchronize(other_);
    rely(cat("resident code in a capture, mode ", name), replayed.ok(),
         replayed ? "a launch of resident code was captured and replayed"
                  : cat("a launch of resident code was not captured: ", replayed.error().what));
    return {};
  }

  void add(std::string what, std::string sentence) {
    facts_.push_back({std::move(what), std::move(sentence), false, true});
  }
  void rely(std::string what, bool holds, std::string sentence) {
    facts_.push_back({std::move(what), std::move(sentence), true, holds});
  }

  const SelftestDriver& driver_;
  const Driver& cuda_;
  std::shared_ptr<Device> device_;
  Spin spin_;
  Stream busy_, other_;
  std::vector<DeviceFact> facts_;
};

}  // namespace

Result<std::vector<DeviceFact>> device_facts(Runtime& runtime, const SelftestDriver& driver,
                                             const std::shared_ptr<Device>& device) {
  Probe probe(driver, device);
  DIECAST_CHECK(probe.open(runtime));
  return probe.facts();
}

}  // namespace diecast::tool
