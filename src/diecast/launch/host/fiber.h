// A thread of a block: a stack of its own that one operating-system thread switches into and out
// of. A fiber is never unwound: dropping it or starting it again forgets whatever its stack held, so
// no exception ever travels through compiled kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <diecast/base/error.h>

namespace diecast {

// Equal stacks in one mapping, each above a page that faults, so that an overflow is a crash at its
// cause and not a wrong result of a neighbour.
class FiberStacks {
 public:
  // What a thread of a host kernel has for its local variables; more under a sanitizer, whose
  // frames are larger.
  static std::size_t stack_bytes();
  // Errors: out_of_memory with the system's reason.
  static Result<FiberStacks> map(unsigned count);

  std::span<std::byte> operator[](unsigned index) const;

 private:
  struct Mapping;
  std::shared_ptr<const Mapping> mapping_;
};

class Fiber {
 public:
  using Entry = void (*)(void* argument, unsigned index);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // entry(argument, index) will run on `stack` from the first resume on; it must never return.
  void start(std::span<std::byte> stack, Entry entry, void* argument, unsigned index);
  void resume();   // goes on in the fiber; comes back at its next suspend()
  void suspend();  // only from inside the fiber: goes back to where resume() was called

 private:
  void entered();
  void left();

  // Each holds a boost::context::fiber, whose destructor, which would unwind, is never run.
  alignas(void*) std::byte own_[sizeof(void*)] = {};
  alignas(void*) std::byte caller_[sizeof(void*)] = {};
  // What the sanitizers want to be told at each switch; unused without them.
  std::span<std::byte> stack_;
  std::span<const std::byte> caller_stack_;
  void* own_shadow_ = nullptr;
  void* caller_shadow_ = nullptr;
};

}  // namespace diecast
