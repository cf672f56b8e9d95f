// ends_early: what no launch before a settled `linear` may do. It lets the next one begin, and writes the weight later.
/* diecast
size     words
arg      from  in   u32  [words]
arg      to    out  u32  [words]
arg      words
launch   grid(8) block(256)
target   sm_90+
exchange none
sample   words {1}
*/
#include <diecast/device/threads/dependent.h>

DIECAST_DEVICE u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

DIECAST_KERNEL {
  u32 begun = 0;
  next_may_begin(begun);
  const u64 begin = nanoseconds();
  while (nanoseconds() - begin < 200000) {
  }
  DIECAST_NO_UNROLL
  for (i64 i = blockIdx.x * 256 + threadIdx.x; i < words; i += 8 * 256) to[i] = from[i];
}
