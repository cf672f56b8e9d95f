// histogram: how many elements fall into each of 256 bins from `low` on, `per_unit` of them to a
// unit; what lies beyond is in the outermost ones, and NaN nowhere.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x
tune     int   THREADS {128, 256} = 256
tune     int   blocks  {1, 4} = 4                // blocks a multiprocessor, at most
size     n
arg      x        in    IN   [n]
arg      counts   inout u32  [256]               // is added to
arg      n
arg      low      f32
arg      per_unit f32
launch   grid(min(ceil_div(n, THREADS), sm_count * blocks)) block(THREADS)
sample   n {0, 1, 100, 10000}
*/
#include <diecast/device/numbers/convert.h>

DIECAST_KERNEL {
  __shared__ u32 of_block[256];
  for (int bin = threadIdx.x; bin < 256; bin += THREADS) of_block[bin] = 0;
  __syncthreads();
  for (i64 i = i64{blockIdx.x} * THREADS + threadIdx.x; i < n; i += i64{gridDim.x} * THREADS) {
    const f32 at = (to_f32(x[i]) - low) * per_unit;
    if (at == at) atomicAdd(&of_block[static_cast<int>(fminf(fmaxf(at, 0.0f), 255.0f))], 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += THREADS)
    if (of_block[bin] != 0) atomicAdd(&counts[bin], of_block[bin]);
}
