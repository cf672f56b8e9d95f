// quantize_nvfp4_small: the bits of quantize_nvfp4 in profile te under one amax that is given, with
// linear scales, for whole blocks of 16, row after row without a gap, from a multiple of 16 bytes on.
// Where all of a matrix is on the GPU at once a launch is one wait for memory: LANES neighbours take a
// block together, so that what each computes between its loads and its stores is short.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
tune     int   LANES   {2, 4} = 2                        // threads of a block of 16
tune     int   THREADS {128, 256} = 128
size     rows
size     cols  = COLS  divisible 16
arg      x      in   IN    [rows, cols]  align 16
arg      amax   in   f32   [1]
arg      codes  out  u8    [rows, align_up(cols, 16) / 2]  align 8
arg      scales out  e4m3  [rows, cols / 16]
arg      rows
arg      cols
launch   grid(ceil_div(rows * (cols / 16) * LANES, THREADS)) block(THREADS)
launch   dependent
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 80}  rows {0, 1, 7, 33, 130}  cols {16, 80, 2112}
*/
#include <diecast/device/block16.h>
#include <diecast/device/dependent.h>
#include <diecast/device/nvfp4_share.h>

// Everything is on its way, and where it goes is known, before anything is waited for.
DIECAST_KERNEL {
  const u32 lane = threadIdx.x % LANES;
  const i64 index = i64{blockIdx.x} * (THREADS / LANES) + threadIdx.x / LANES;
  const IN* from = x + index * 16;
  u8* to = codes + index * 8 + lane * (8 / LANES);
  e4m3* scale = scales + index;
  now(from), now(to), now(scale);
  if (index >= rows * (cols / 16)) return;
  const f32 of_tensor = *amax;
  const auto block = load_block16(from);
  f32 of_block = amax_of(block);
  next_may_begin(of_block);
  const auto share = share_of_block<LANES>(block, lane, of_block, of_tensor);
  share.store_codes(to);
  if (lane == 0) *scale = share.scale;
}
