// reciprocals: what the processor's approximate reciprocal makes of floats, given as their bits.
/* diecast
tune     int   THREADS {32} = 32
size     count
arg      x     in  u32  [count]
arg      out   out u32  [count]
arg      count
launch   grid(ceil_div(count, THREADS)) block(THREADS)
target   sm_80+
exchange none
sample   count {32}
*/
#include <diecast/device/nvfp4/nvfp4_engine_profiles.h>

DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * THREADS + threadIdx.x;
  if (i < count) out[i] = __float_as_uint(near_reciprocal(__uint_as_float(x[i])));
}
