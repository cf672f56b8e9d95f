// nvfp4_globals: the global scales that templates/device/nvfp4/nvfp4.h makes of amaxes, all as
// their bits.
/* diecast
tune     int   THREADS {256} = 256
size     count
arg      amax          in  u32  [count]
arg      encode_sixth  out u32  [count]
arg      decode        out u32  [count]
arg      count
launch   grid(ceil_div(count, THREADS)) block(THREADS)
target   host, sm_80+
exchange none
sample   count {256}
*/
#include <diecast/device/nvfp4/nvfp4.h>

DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * THREADS + threadIdx.x;
  if (i >= count) return;
  const Nvfp4Global global = nvfp4_global(__uint_as_float(amax[i]));
  encode_sixth[i] = __float_as_uint(global.encode_sixth);
  decode[i] = __float_as_uint(global.decode);
}
