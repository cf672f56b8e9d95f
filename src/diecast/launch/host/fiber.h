// The threads of a block as stacks that one operating-system thread switches between. A fiber is
// never unwound: dropping it or starting it again forgets whatever its stack held, so no exception
// ever travels through compiled kernels.
#pragma once

#include <diecast/base/error.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

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

// What can be switched to: a fiber with a stack of its own, or, if never started, the place where
// an operating-system thread left for one.
class Fiber {
 public:
  using Entry = void (*)(void* argument, unsigned index);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // entry(argument, index) will run on `stack` when it is first switched to; it must never return.
  void start(std::span<std::byte> stack, Entry entry, void* argument, unsigned index);
  // Only on the running one: goes on in `next`, and comes back when somebody switches here.
  void switch_to(Fiber& next);

 private:
  void arrived();

  // Where it goes on: a boost::context::fiber, whose destructor, which would unwind, is never run.
  alignas(void*) std::byte context_[sizeof(void*)] = {};
  Fiber* came_from_ = nullptr;  // who switched here last
  // What the sanitizers want to be told at each switch; unused without them.
  std::span<const std::byte> stack_;
  void* shadow_ = nullptr;
};

}  // namespace diecast
