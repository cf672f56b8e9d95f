// compute_fp4_scales: the f32 scales of blocks under E2M1 from their amaxes, as ModelOpt makes them:
// amax / 6 and, with QUANTIZE, that rounded to E4M3 in units of the tensor's largest.
/* diecast
option   bool  QUANTIZE = true                           // block scales are themselves E4M3
option   enum  FP8      {eager, extension} = eager       // 448 / ga as reciprocal times 448, or as division
option   enum  PROFILE  {modelopt} = modelopt            // whose bits; see PROFILES.md
tune     int   THREADS  {128, 256} = 256
tune     int   waves    {1, 8, 64, 256} = 256            // the most thread blocks a multiprocessor gets
size     count
arg      amax        in   f32  [count]
arg      global_amax in   f32  [QUANTIZE ? 1 : 0]        // the largest amax, or what the caller has instead
arg      scales      out  f32  [count]
arg      count
require  THREADS % 32 == 0                               // whole warps
require  QUANTIZE || FP8 == FP8_eager                    // FP8 says how scales are quantized
launch   grid(min(ceil_div(count, THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   count {0, 1, 7, 33, 2100}
*/
#include <diecast/device/fake/fp4_fake.h>
#include <diecast/device/threads/row_walk.h>

DIECAST_KERNEL {
  Fp4ScaleOfScales of = {1.0f, 1.0f};
  if constexpr (QUANTIZE) of = fp4_scale_of_scales<FP8 == FP8_eager>(global_amax[0]);
  const Share share(count, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS);
  DIECAST_NO_UNROLL
  for (i64 i = share.first; i < share.last; i += share.step) {
    f32 p = __fmul_rn(amax[i], kSixth);
    if constexpr (QUANTIZE) p = fp4_quantized_scale(p, of);
    scales[i] = from_f32<f32>(p);
  }
}
