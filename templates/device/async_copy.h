// Copies from memory into a block's shared memory that run on while its threads do, held in no
// register. A thread waits for its own and meets the block at a barrier before anybody reads them.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// 4, 8 or 16 bytes to `to` + `offset`, both addresses at a multiple of them; zeros, and `from` not read, where they
// are not there.
template <int Bytes>
DIECAST_DEVICE void copy_async(void* to, const void* from, bool there, u32 offset = 0) {
#if DIECAST_HOST
  if (there) {
    __builtin_memcpy(static_cast<u8*>(to) + offset, from, Bytes);
  } else {
    __builtin_memset(static_cast<u8*>(to) + offset, 0, Bytes);
  }
#else
  const u32 at = shared_address(to) + offset, absent = !there;
  if constexpr (Bytes == 16) {  // past the first-level cache, which takes whole pieces alone
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\ncp.async.cg.shared.global [%0], [%1], 16, p;\n}"
                 :: "r"(at), "l"(from), "r"(absent) : "memory");
  } else {
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\ncp.async.ca.shared.global [%0], [%1], %3, p;\n}"
                 :: "r"(at), "l"(from), "r"(absent), "n"(Bytes) : "memory");
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
