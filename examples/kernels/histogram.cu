// histogram: how many elements fall into each of 256 bins from `low` on, `per_unit` of them to a
// unit; what lies beyond is in the outermost ones, and NaN nowhere.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x
tune     int   THREADS {128, 256} = 256
tune     int   blocks  {1, 4, 8} = 8             // blocks a multiprocessor, at most
size     n
arg      x        in    IN   [n]
arg      counts   inout u32  [256]               // is added to
arg      n
arg      low      f32
arg      per_unit f32
launch   grid(min(ceil_div(n, 16 * THREADS), sm_count * blocks)) block(THREADS) dependent
sample   n {0, 1, 100, 10000}
*/
#include <kernels/piece.h>

DIECAST_KERNEL {
  __shared__ u32 of_block[256];
  for (int bin = threadIdx.x; bin < 256; bin += THREADS) of_block[bin] = 0;
  __syncthreads();
  const auto count = [&](auto whole) {
    constexpr bool kWhole = decltype(whole)::value;
    const i64 step = i64{gridDim.x} * THREADS * kPiece<IN>;
    for (i64 at = (i64{blockIdx.x} * THREADS + threadIdx.x) * kPiece<IN>; at < n; at += step) {
      f32 values[kPiece<IN>];
      load_piece<IN, kWhole>(x + at, kWhole ? kPiece<IN> : n - at, NAN, values);
      for (int i = 0; i < kPiece<IN>; ++i) {
        const f32 bin = (values[i] - low) * per_unit;
        if (bin == bin) atomicAdd(&of_block[static_cast<int>(fminf(fmaxf(bin, 0.0f), 255.0f))], 1u);
      }
    }
  };
  in_pieces<IN>(n, count, &x[0]);
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += THREADS)
    if (of_block[bin] != 0) atomicAdd(&counts[bin], of_block[bin]);
}
