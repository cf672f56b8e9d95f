// The fake CUDA driver of the tests: libfake_cuda.so (cuda*.cpp) has the driver's functions, found
// through cuGetProcAddress like the real ones; this header is how a test says what the machine is
// and what fails, and sees what was called. Device memory is host memory, so copies really work;
// kernels do nothing but call `on_launch`. One script a process.
//
//   FakeCuda cuda;                                  // a machine with one sm_90 GPU; all counts 0
//   cuda->gpus.resize(2);
//   cuda->fail["cuMemAlloc"][3] = 2;                // the third call from here on returns 2
//   auto device = open_cuda_device(cuda.driver(), 1).value();
//   EXPECT_EQ(cuda->launches.at(0).argument<std::int64_t>(2), 7);
//   EXPECT_EQ(cuda->violations, std::vector<std::string>{});
//
// A child process (DIECAST_LIBCUDA=FakeCuda::path()) is scripted by the environment instead:
//   DIECAST_FAKE_CUDA_CC="90 100"   a GPU for each;  DIECAST_FAKE_CUDA_VERSION=12080
//   DIECAST_FAKE_CUDA_FAIL="cuInit=34 cuMemAlloc=2"   every call of these returns this
//   DIECAST_FAKE_CUDA_BUSY="20 cuFuncLoad"   a launch takes 20 ms, and these wait until it is done
#pragma once

#include <diecast/launch/cuda_device.h>
#include <diecast/launch/driver.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

struct FakeGpu {
  std::string name = "Fake GPU";
  int cc = 90;
  int sm_count = 132;
  int shared_optin = 232448;
  int max_threads = 1024;
  std::size_t memory = std::size_t{1} << 30;
};

struct FakeLaunch {
  std::string symbol;
  std::array<unsigned, 3> grid{}, block{};
  unsigned shared_bytes = 0;
  const void* stream = nullptr;
  std::uint64_t context = 0;  // its id
  bool captured = false;      // recorded into a graph instead of run
  bool extended = false;      // through cuLaunchKernelEx
  unsigned cluster = 0;
  bool cooperative = false, dependent = false;
  // One text of bytes for each kernel parameter; empty if the code does not say how many there are.
  std::vector<std::string> arguments;

  template <class T>
  T argument(std::size_t index) const {
    T value{};
    const std::string& bytes = arguments.at(index);
    if (bytes.size() != sizeof value) throw std::length_error("a parameter of another size");
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
};

struct FakeCall {
  std::string function;
  int result = 0;
  bool capturing = false;     // whether any stream was
  std::uint64_t context = 0;  // current one's id; 0: none
};

struct CudaScript {
  static constexpr int kEveryCall = 0;

  // The machine.
  std::vector<FakeGpu> gpus{1};
  int driver_version = 13000;
  bool stub = false;              // like the toolkit's: every function returns 34
  std::set<std::string> missing;  // functions this driver lacks
  bool lazy = false;              // cuKernelGetFunction alone does not load
  bool allows_load_in_capture = false;
  int launch_ms = 0;  // how long a launch keeps its stream busy (cuStreamQuery); else it is done
  std::set<std::string> waiting;  // functions that wait until every stream is idle
  // Result of the n-th call of a function, from 1; of all of them under kEveryCall.
  std::map<std::string, std::map<int, int>> fail;
  // Sizes of a kernel's parameters, by symbol; else the code's own, if it has them.
  std::map<std::string, std::vector<std::size_t>> parameters;
  // What a launch does: the launch, and a pointer to each parameter.
  std::function<void(const FakeLaunch&, void**)> on_launch;
  std::function<void(const std::string&)> on_call;  // before any function does anything
  bool quiet = false;  // record nothing, check nothing: to measure what stands above the driver

  // What happened.
  std::vector<FakeCall> calls;
  std::vector<FakeLaunch> launches;
  // Loads, allocations and waits while a stream captures; launches that had to load; calls after
  // fork.
  std::vector<std::string> violations;
  std::size_t allocated_bytes = 0;  // now
  std::set<const void*> graphs;     // now: captured, or made ready

  // Calls of a function. Of a name that the fake does not record it throws: a count of 0 would
  // pass.
  int count(std::string_view function) const {
#define DIECAST_NAME(name, version, needed, parameters) #name,
    static const std::set<std::string_view> recorded{DIECAST_CUDA_FUNCTIONS(DIECAST_NAME)};
#undef DIECAST_NAME
    if (!recorded.contains(function)) throw std::invalid_argument(std::string(function));
    return static_cast<int>(std::ranges::count(calls, function, &FakeCall::function));
  }
};

class FakeCuda {
 public:
  FakeCuda() : library_(Library::open(path()).value()) {
    library_.function<void()>("fake_cuda_reset")();
  }
  static std::string path() { return DIECAST_FAKE_DIR "/libfake_cuda.so"; }

  CudaScript* operator->() const { return library_.function<CudaScript*()>("fake_cuda_script")(); }
  std::shared_ptr<const Driver> driver() const { return Driver::open(path()).value(); }
  std::shared_ptr<Device> device(int ordinal = 0) const {
    return open_cuda_device(driver(), ordinal).value();
  }

  // What an engine around diecast does: its own contexts, streams and captures.
  cuda::ContextHandle* create_context(int gpu) const {  // and makes it current
    call<int(unsigned)>("cuInit", 0u);
    cuda::ContextHandle* context = nullptr;
    call<int(cuda::ContextHandle**, unsigned, int)>("cuCtxCreate_v2", &context, 0u, gpu);
    return context;
  }
  void destroy_context(cuda::ContextHandle* context) const {
    call<int(cuda::ContextHandle*)>("cuCtxDestroy_v2", context);
  }
  void make_current(cuda::ContextHandle* context) const {
    call<int(cuda::ContextHandle*)>("cuCtxSetCurrent", context);
  }
  void reset_primary(int gpu) const { call<int(int)>("cuDevicePrimaryCtxReset_v2", gpu); }
  void begin_capture(Stream stream) const {
    call<int(void*, int)>("cuStreamBeginCapture", stream.handle, 0);
  }
  // Whether the capture was still valid.
  bool end_capture(Stream stream) const {
    void* graph = nullptr;
    return library_.function<int(void*, void**)>("cuStreamEndCapture")(stream.handle, &graph) == 0;
  }

 private:
  template <class Function, class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    if (const int code = library_.function<Function>(name)(arguments...); code != 0)
      throw std::runtime_error(std::string(name) + " of the fake driver: " + std::to_string(code));
  }

  Library library_;
};

}  // namespace diecast::testing
