// Copies from memory into a block's shared memory that run on while its threads do: sixteen bytes at a
// time, held in no register. A block waits for its own and meets at a barrier before it reads them.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// Bytes 0 up to `valid` of sixteen at a multiple of Bytes; the rest becomes 0. `to` is at a multiple of 16.
template <int Bytes>
DIECAST_DEVICE void copy_async(void* to, const void* from, int valid) {
#if DIECAST_HOST
  __builtin_memset(to, 0, 16);
  if (valid > 0) __builtin_memcpy(to, from, valid);
#else
  const u32 at = shared_address(to);
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at), "l"(from), "r"(valid) : "memory");
  } else {
DIECAST_UNROLL
    for (int i = 0; i < 16; i += Bytes) {
      const int part = min(max(valid - i, 0), Bytes);
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                   :: "r"(at + i), "l"(static_cast<const u8*>(from) + (part > 0 ? i : 0)), "n"(Bytes), "r"(part)
                   : "memory");
    }
  }
#endif
}

// Waits for the copies that this thread began.
DIECAST_DEVICE void wait_for_copies() {
#if !DIECAST_HOST
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace diecast
