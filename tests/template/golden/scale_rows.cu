// scale_rows: every row of a [rows, cols] matrix times its factor.
// One thread block a row; a "tail" kept whole.
/* diecast
shape    int   COLS                                // row length; 0 = not fixed at compile time
shape    bool  ALIGNED = true                      // rows start at multiples of 16 bytes
option   type  IN      {bf16, f16, f32}            // element type of x
option   int   BLOCK   {16, 32} = 16
option   enum  LAYOUT  {linear, s128x4} = linear   // order of the factors
tune     int   THREADS {64, 128, 256} = 128        // compiled in
tune     int   waves   {1, 16, 64} = 64            // read at launch
size     rows  device                              // may be known to the device alone
size     cols  = COLS
arg      x      in    IN   [rows, cols]  stride  align (ALIGNED ? 16 : bits(IN) / 8)
arg      factor in    f32  [LAYOUT == LAYOUT_linear ? rows : align_up(rows, 128)]
arg      y      out   IN   [rows, cols]  align 16
arg      total  inout u32  [1]
arg      rows
arg      cols
arg      bias   f32                                // added to every factor
arg      group  struct Group 16
arg      map    tensor_map
require  THREADS % 32 == 0                         // whole warps
require  COLS % BLOCK == 0                         // whole "blocks"
require  IN != f32 || min(BLOCK, THREADS) * 2 <= 32 && cc < 120 || host
launch   grid(min(rows, sm_count * waves)) block(THREADS) shared(COLS * bits(IN) / 8)
launch   dependent
target   host, sm_80+
exchange warp                                      // a row's total is reduced by a warp
sample   COLS {0, 16, 4096}  rows {0, 1, 7}
*/
#include <diecast/device/twice.h>  // twice
#include <diecast/device/base/simt.h>

struct Group {
  i64 first, last;
};

DIECAST_KERNEL {
  // #include <not_a_header.h>
  y[0] = x[x_stride * rows + cols];
  total[0] = twice(BLOCK);
}
