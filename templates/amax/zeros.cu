// zeros: values become 0, as the driver's own fill would make them, by a launch that comes while the one before it ends
// and lets the next one do so.
/* diecast
tune     int   THREADS {128} = 128
size     count
arg      values out  f32  [count]
arg      count
launch   grid(ceil_div(count, THREADS)) block(THREADS)
launch   dependent
exchange none                                            // threads never wait for one another
sample   count {0, 1, 130, 4096}
*/
#include <diecast/device/threads/dependent.h>

DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * THREADS + threadIdx.x;
  f32 zero = 0.0f;
  next_may_begin(zero);
  if (i < count) values[i] = zero;
}
