// The inside of the fake driver: its objects, and what every function does first.
#pragma once

#include <fake/cuda_script.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace diecast::testing {

struct Context {
  std::atomic<std::uint64_t> id = 0;
  int gpu = 0;
  bool primary = false;
  std::atomic<bool> alive = true;
};

struct FakeStream {
  Context* context = nullptr;
  bool capturing = false, valid = true, alive = true;
  std::chrono::steady_clock::time_point busy_until{};
};

struct FakeEvent {
  Context* context = nullptr;
  std::int64_t recorded_ns = -1;
  bool captured = false;
};

struct Function;
struct Code;

struct Kernel {
  std::string symbol;
  std::optional<std::vector<std::size_t>> parameters;
  std::map<Context*, Function*> functions;
};

struct Function {
  Kernel* kernel = nullptr;
  Context* context = nullptr;
  bool loaded = false;
  int max_dynamic_shared = 48 * 1024;
};

struct Code {
  std::vector<std::unique_ptr<Kernel>> kernels;
};

// Everything is kept until the process ends, so that a handle used too late is found out.
struct State {
  std::recursive_mutex mutex;
  CudaScript script;
  bool initialised = false;
  std::uint64_t last_id = 0, last_graph = 0;
  std::map<std::string, int> counts;
  std::vector<std::unique_ptr<Context>> contexts;
  std::map<int, Context*> primaries;
  std::vector<std::unique_ptr<FakeStream>> streams;
  std::vector<std::unique_ptr<FakeEvent>> events;
  std::vector<std::unique_ptr<Code>> codes;
  std::vector<std::unique_ptr<Function>> functions;
  std::map<std::uintptr_t, std::size_t> memory;
};

State& state();
std::vector<Context*>& context_stack();  // of the calling thread, top last
Context* current_context();              // null: none, or a destroyed one
bool any_capture();

// What every function does first: counts and records the call, and answers with the error the
// script wants, the fake finds (not initialised, stub, no context) or 0. `unsafe`: not allowed
// while a stream captures; such a call is a violation and spoils every capture.
int enter(const char* function, bool needs_context = true, bool unsafe = false);

// Kernels of a cubin (an ELF file: its .text.NAME sections, parameters from .nv.info.NAME).
std::optional<std::unique_ptr<Code>> read_code(const void* image);

const char* error_name(int code);  // null if there is no such code

}  // namespace diecast::testing
