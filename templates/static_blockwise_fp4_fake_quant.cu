// static_blockwise_fp4_fake_quant: every BLOCK elements in a row of a dense tensor to the nearest
// E2M1 multiples of their block's scale, as ModelOpt does it; the scale is compute_fp4_scales of the
// block's amax. SCALE_one: rounding to E2M1 alone.
// ALIGNED: x and out from a multiple of 16 bytes on, whole pieces of eight elements.
/* diecast
shape    bool  ALIGNED = true                            // see above
option   type  IN      {bf16, f16, f32}                  // element type of x
option   type  OUT     {bf16, f16, f32}                  // element type of out
option   int   BLOCK   {8, 16, 32, 64, 128} = 16         // elements that share one scale
option   enum  SCALE   {quantized, unquantized, one} = quantized
option   enum  FP8     {eager, extension} = eager        // how scales are quantized, see compute_fp4_scales
option   enum  PROFILE {modelopt} = modelopt             // whose bits; see PROFILES.md
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     count  divisible (SCALE == SCALE_one ? (ALIGNED ? 8 : 1) : BLOCK)
arg      x           in   IN   [count]  align (ALIGNED ? 16 : bits(IN) / 8)
arg      amax        in   f32  [SCALE == SCALE_one ? 0 : count / BLOCK]
arg      global_amax in   f32  [SCALE == SCALE_quantized ? 1 : 0]
arg      out         out  OUT  [count]  align (ALIGNED ? 16 : bits(OUT) / 8)
arg      count
require  THREADS % 32 == 0                               // whole warps
require  SCALE == SCALE_quantized || FP8 == FP8_eager    // FP8 says how scales are quantized
require  SCALE != SCALE_one || BLOCK == 16               // rounding alone has no blocks
launch   grid(min(ceil_div(count, 8 * THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   count {0, 128, 256, 4224}
*/
#include <diecast/device/eight.h>
#include <diecast/device/fp4_fake.h>

// One thread eight elements.
DIECAST_KERNEL {
  Fp4ScaleOfScales of = {1.0f, 1.0f};
  if constexpr (SCALE == SCALE_quantized) {
    of = fp4_scale_of_scales<FP8 == FP8_eager>(global_amax[0]);
  }
  const i64 step = i64{gridDim.x} * THREADS * 8;
DIECAST_NO_UNROLL
  for (i64 first = (i64{blockIdx.x} * THREADS + threadIdx.x) * 8; first < count; first += step) {
    f32 p = 1.0f;
    if constexpr (SCALE != SCALE_one) p = __fmul_rn(amax[first / BLOCK], kSixth);
    if constexpr (SCALE == SCALE_quantized) p = fp4_quantized_scale(p, of);
    Eight<IN> elements;
    elements.template load<ALIGNED>(x + first, count - first);
    Eight<OUT> rounded;
DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) rounded.set(i, fp4_fake_any_scale(elements.element(i), p));
    rounded.template store<ALIGNED>(out + first, count - first);
  }
}
