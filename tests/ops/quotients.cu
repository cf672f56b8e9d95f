// quotients: what templates/device/numbers/quotient.h makes of pairs of floats, given as their
// bits; with a DIVISOR, of the first ones divided by it; with INVERSE, of 1 divided by the second
// ones.
/* diecast
option   int   DIVISOR {0, 6, 1536, 2688} = 0
option   bool  INVERSE = false
tune     int   THREADS {256} = 256
size     count
arg      a     in  u32  [count]
arg      b     in  u32  [count]
arg      out   out u32  [count]
arg      count
require  DIVISOR == 0 || !INVERSE   // one or the other
require  !host || !INVERSE          // the host divides
launch   grid(min(ceil_div(count, THREADS), sm_count * 64)) block(THREADS)
target   host, sm_80+
exchange none
sample   count {256}
*/
#include <diecast/device/numbers/quotient.h>

DIECAST_KERNEL {
  for (i64 i = i64{blockIdx.x} * THREADS + threadIdx.x; i < count; i += i64{gridDim.x} * THREADS) {
    const f32 x = __uint_as_float(a[i]), y = __uint_as_float(b[i]);
    f32 q = DIVISOR != 0 ? quotient_by<DIVISOR == 0 ? 6 : DIVISOR>(x) : quotient(x, y);
#if !DIECAST_HOST
    if constexpr (INVERSE) q = inverse_of(y);
#endif
    out[i] = __float_as_uint(q);
  }
}
