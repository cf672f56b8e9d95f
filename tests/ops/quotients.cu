// quotients: what templates/device/quotient.h makes of pairs of floats, given as their bits.
/* diecast
tune     int   THREADS {256} = 256
size     count
arg      a     in  u32  [count]
arg      b     in  u32  [count]
arg      out   out u32  [count]
arg      count
launch   grid(min(ceil_div(count, THREADS), sm_count * 64)) block(THREADS)
target   host, sm_80+
exchange none
sample   count {256}
*/
#include <diecast/device/quotient.h>

DIECAST_KERNEL {
  for (i64 i = i64{blockIdx.x} * THREADS + threadIdx.x; i < count; i += i64{gridDim.x} * THREADS) {
    out[i] = __float_as_uint(quotient(__uint_as_float(a[i]), __uint_as_float(b[i])));
  }
}
