// Copies from memory into a thread block's shared memory that run on while its threads do, held in no
// register. A thread waits for its own and meets the others at a barrier before anybody reads them.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/shared_place.h>

namespace diecast {

// 4, 8 or 16 bytes to `to`, the last past the first-level cache; zeros, and `from` not read, where they are not
// there. Both addresses are multiples of them.
template <int Bytes>
DIECAST_DEVICE void copy_async(SharedPlace to, const void* from, bool there) {
#if DIECAST_HOST
  if (there) {
    __builtin_memcpy(to, from, Bytes);
  } else {
    __builtin_memset(to, 0, Bytes);
  }
#else
  const u32 absent = !there;
  if constexpr (Bytes == 16) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\ncp.async.cg.shared.global [%0], [%1], %3, p;\n}" ::"r"(to), "l"(from),
                 "r"(absent), "n"(Bytes)
                 : "memory");
  } else {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\ncp.async.ca.shared.global [%0], [%1], %3, p;\n}" ::"r"(to), "l"(from),
                 "r"(absent), "n"(Bytes)
                 : "memory");
  }
#endif
}

template <int Bytes>
DIECAST_DEVICE void copy_async(void* to, const void* from, bool there) {
  copy_async<Bytes>(shared_place(to), from, there);
}

// Waits for the copies that this thread began.
DIECAST_DEVICE void wait_for_copies() {
#if !DIECAST_HOST
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace diecast
