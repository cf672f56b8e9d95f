// scale_rows: every row of a matrix times a factor of its own.
/* diecast
option   type  T       {bf16, f16, f32}          // element type of x and out
tune     int   THREADS {64, 128, 256} = 128
size     rows
size     cols
arg      x      in   T    [rows, cols]  stride
arg      factor in   f32  [rows]
arg      out    out  T    [rows, cols]  stride
arg      rows
arg      cols
require  THREADS % 32 == 0                       // whole warps
launch   grid(rows) block(THREADS)
target   host, sm_80+
exchange none                                    // threads never wait for one another
sample   rows {0, 1, 5}  cols {1, 33, 300}
*/
#include <diecast/device/numbers/convert.h>

DIECAST_KERNEL {
  const i64 row = blockIdx.x;
  for (i64 col = threadIdx.x; col < cols; col += THREADS) {
    const f32 value = to_f32(x[row * x_stride + col]);
    out[row * out_stride + col] = from_f32<T>(value * factor[row]);
  }
}
