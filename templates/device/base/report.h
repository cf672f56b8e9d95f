// What a kernel says of itself: printf, and assert, in every build. On a GPU both are the compiler's own.
#pragma once

#include <diecast/device/base/block.h>

#if !defined(__CUDACC__)

namespace diecast {

// Ends the thread block; the launch's error has these words.
[[noreturn]] inline __attribute__((noinline, visibility("hidden"))) void host_failed(const char* what, const char* file,
                                                                                     unsigned line) {
  const HostFault fault{what, file, line, {threadIdx.x, threadIdx.y, threadIdx.z}};
  host_block->fail(host_block, &fault);
  __builtin_unreachable();
}

// Not always inlined, as device functions are: a function of any number of arguments cannot be.
inline __attribute__((format(printf, 1, 2), visibility("hidden"))) int printf(const char* format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  const int size = host_block->print(host_block, format, arguments);
  __builtin_va_end(arguments);
  return size;
}

}  // namespace diecast

#define assert(condition) \
  ((condition) ? static_cast<void>(0) : diecast::host_failed("assert(" #condition ")", __FILE__, __LINE__))

#endif
