// whole: the whole numbers that math/whole.h makes of the floats with the bits first, first + step, ...
/* diecast
option   type  T        {f32, bf16, f16} = f32
size     count
arg      function u32                     // floor, ceil, trunc, rint, round
arg      first    u32
arg      step     u32
arg      out      out T [count]
arg      count
launch   grid(ceil_div(count, 256)) block(256)
exchange none
sample   count {256}
*/
#include <diecast/device/math/math.h>

DIECAST_DEVICE T value(u32 of, T x) {
  switch (of) {
    case 0: return math::floor(x);
    case 1: return math::ceil(x);
    case 2: return math::trunc(x);
    case 3: return math::rint(x);
    default: return math::round(x);
  }
}

DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * 256 + threadIdx.x;
  if (i < count) out[i] = value(function, from_bits<T>(first + static_cast<u32>(i) * step));
}
