// Counts the allocations of each thread of a test program (a runtime's other threads go on
// publishing meanwhile): included by one file of it, which brings the global operator new.
// Sanitizers have their own; under one nothing is counted.
#pragma once

#include <cstdlib>
#include <new>

namespace diecast::testing {
inline thread_local long allocations = 0;
}

// Inlined into a caller, free() of what operator new gave looks like a mistake to the compiler.
#if !defined(DIECAST_SANITIZER)
void* operator new(std::size_t bytes) {
  ++diecast::testing::allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
