// The fake driver's memory of itself: objects, faults, the record of calls, and its script.
#include "fake/cuda_state.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <thread>

namespace diecast::testing {
namespace {

pid_t home_process = getpid();

// The script that a child process of a test gets through its environment.
void read_environment(CudaScript& script) {
  if (const char* list = std::getenv("DIECAST_FAKE_CUDA_CC")) {
    script.gpus.clear();
    std::istringstream words(list);
    for (FakeGpu gpu; words >> gpu.cc;) script.gpus.push_back(gpu);
  }
  if (const char* version = std::getenv("DIECAST_FAKE_CUDA_VERSION"))
    script.driver_version = std::atoi(version);
  if (const char* list = std::getenv("DIECAST_FAKE_CUDA_BUSY")) {
    std::istringstream words(list);
    words >> script.launch_ms;
    for (std::string word; words >> word;) script.waiting.insert(word);
  }
  if (const char* list = std::getenv("DIECAST_FAKE_CUDA_FAIL")) {
    std::istringstream words(list);
    for (std::string word; words >> word;) {
      const std::size_t equal = word.find('=');
      if (equal == std::string::npos) continue;
      script.fail[word.substr(0, equal)][CudaScript::kEveryCall] =
          std::atoi(word.c_str() + equal + 1);
    }
  }
}

// The error the script has for this call, or 0.
int scripted(const std::string& function) {
  const int number = ++state().counts[function];
  const auto of_function = state().script.fail.find(function);
  if (of_function == state().script.fail.end()) return 0;
  const auto& results = of_function->second;
  if (const auto found = results.find(number); found != results.end()) return found->second;
  const auto every = results.find(CudaScript::kEveryCall);
  return every == results.end() ? 0 : every->second;
}

void spoil_captures(const std::string& function) {
  state().script.violations.push_back(function + " while capturing");
  for (const auto& stream : state().streams)
    if (stream->capturing) stream->valid = false;
}

void wait_for_all() {
  for (const auto& stream : state().streams) std::this_thread::sleep_until(stream->busy_until);
}

int judge(const std::string& function, bool needs_context, bool unsafe) {
  State& fake = state();
  if (fake.script.stub) return 34;
  if (getpid() != home_process) fake.script.violations.push_back(function + " after fork");
  if (const int code = scripted(function)) return code;
  if (fake.script.waiting.count(function) != 0) wait_for_all();
  const bool before_init = function == "cuInit" || function == "cuDriverGetVersion" ||
                           function == "cuGetErrorName" || function == "cuGetProcAddress";
  if (!before_init && !fake.initialised) return 3;
  if (needs_context) {
    if (context_stack().empty() || !context_stack().back()) return 201;
    if (!context_stack().back()->alive) return 709;
  }
  if (unsafe && any_capture()) {
    spoil_captures(function);
    return 900;
  }
  return 0;
}

}  // namespace

State& state() {
  static State* const fake = [] {
    auto* made = new State;
    read_environment(made->script);
    return made;
  }();
  return *fake;
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

Context* current_context() {
  if (context_stack().empty() || !context_stack().back()) return nullptr;
  return context_stack().back()->alive ? context_stack().back() : nullptr;
}

bool any_capture() {
  for (const auto& stream : state().streams)
    if (stream->capturing) return true;
  return false;
}

int enter(const char* function, bool needs_context, bool unsafe) {
  State& fake = state();
  if (fake.script.quiet) return 0;
  if (fake.script.on_call) fake.script.on_call(function);
  std::lock_guard lock(fake.mutex);
  FakeCall call;
  call.function = function;
  call.capturing = any_capture();
  if (const Context* context = current_context()) call.context = context->id;
  call.result = judge(function, needs_context, unsafe);
  fake.script.calls.push_back(call);
  return call.result;
}

const char* error_name(int code) {
  static const std::map<int, const char*> names = {
      {0, "CUDA_SUCCESS"},
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {3, "CUDA_ERROR_NOT_INITIALIZED"},
      {4, "CUDA_ERROR_DEINITIALIZED"},
      {34, "CUDA_ERROR_STUB_LIBRARY"},
      {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {101, "CUDA_ERROR_INVALID_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
      {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
      {226, "CUDA_ERROR_CONTAINED"},
      {300, "CUDA_ERROR_INVALID_SOURCE"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
      {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
      {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {718, "CUDA_ERROR_INVALID_PC"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
      {801, "CUDA_ERROR_NOT_SUPPORTED"},
      {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
      {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
      {907, "CUDA_ERROR_CAPTURED_EVENT"},
      {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
      {911, "CUDA_ERROR_EXTERNAL_DEVICE"},
      {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
      {999, "CUDA_ERROR_UNKNOWN"},
  };
  const auto found = names.find(code);
  return found == names.end() ? nullptr : found->second;
}

}  // namespace diecast::testing

extern "C" {

diecast::testing::CudaScript* fake_cuda_script() { return &diecast::testing::state().script; }

// A new machine: nothing initialised, made, called or current in this thread.
void fake_cuda_reset() {
  using namespace diecast::testing;
  State& fake = state();
  std::lock_guard lock(fake.mutex);
  fake.script = CudaScript{};
  read_environment(fake.script);
  fake.initialised = false;
  fake.counts.clear();
  fake.primaries.clear();
  for (const auto& [address, bytes] : fake.memory) std::free(reinterpret_cast<void*>(address));
  fake.memory.clear();
  for (const auto& context : fake.contexts) context->alive = false;
  for (const auto& stream : fake.streams) stream->alive = stream->capturing = false;
  context_stack().clear();
}

}  // extern "C"
