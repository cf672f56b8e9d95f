// static_blockwise_fp4_fake_quant: every BLOCK elements in a row of a dense tensor to the nearest
// E2M1 multiples of their block's scale, as ModelOpt does it; the scale is compute_fp4_scales of the
// block's amax. SCALE_one: rounding to E2M1 alone.
// ALIGNED: x and out from a multiple of 16 bytes on, a multiple of eight elements.
/* diecast
shape    bool  ALIGNED = true                            // see above
option   type  IN      {bf16, f16, f32}                  // element type of x
option   type  OUT     {bf16, f16, f32}                  // element type of out
option   int   BLOCK   {8, 16, 32, 64, 128} = 16         // neighbours that share one scale
option   enum  SCALE   {quantized, unquantized, one} = quantized
option   enum  FP8     {eager, extension} = eager        // how scales are quantized, see compute_fp4_scales
option   enum  PROFILE {modelopt} = modelopt             // whose bits; see PROFILES.md
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 256} = 64              // the most thread blocks a multiprocessor gets
size     count  divisible (SCALE == one ? (ALIGNED ? 8 : 1) : BLOCK)
arg      x           in   IN   [count]  align (ALIGNED ? 16 : bits(IN) / 8)
arg      amax        in   f32  [SCALE == one ? 0 : count / BLOCK]
arg      global_amax in   f32  [SCALE == quantized ? 1 : 0]
arg      out         out  OUT  [count]  align (ALIGNED ? 16 : bits(OUT) / 8)
arg      count
require  THREADS % 32 == 0                               // whole warps
require  SCALE == quantized || FP8 == FP8_eager          // FP8 says how scales are quantized
require  SCALE != one || BLOCK == 16                     // rounding alone has no blocks
launch   grid(min(ceil_div(count * max(bits(IN), bits(OUT)), 128 * THREADS), sm_count * waves)) block(THREADS)
launch   dependent
exchange none                                            // threads never wait for one another
sample   count {0, 128, 256, 4224}
*/
#include <diecast/device/fake/fp4_fake_piece.h>
#include <diecast/device/threads/row_walk.h>

// Of a block, from its amax.
DIECAST_DEVICE f32 static_scale(f32 block_amax, const Fp4ScaleOfScales& of) {
  if constexpr (SCALE == SCALE_one) return 1.0f;
  const f32 p = __fmul_rn(block_amax, kSixth);
  return fp4_finite_scale(SCALE == SCALE_quantized ? fp4_quantized_scale(p, of) : p);
}

// A thread takes piece by piece, the next one on its way while one is worked on.
DIECAST_KERNEL {
  Fp4ScaleOfScales of = {1.0f, 1.0f};
  if constexpr (SCALE == SCALE_quantized) {
    of = fp4_scale_of_scales<FP8 == FP8_eager>(global_amax[0]);
  }
  constexpr int kPiece = kFp4Piece<IN, OUT>;
  const u32 thread = blockIdx.x * THREADS + threadIdx.x;
#if DIECAST_HOST
  const Share share(ceil_div(count, kPiece), thread, gridDim.x * THREADS);
  for (i64 i = share.first; i < share.last; i += share.step) {
    const i64 first = i * kPiece;
    const f32 block_amax = SCALE == SCALE_one ? 0.0f : amax[first / BLOCK];
    fp4_fake_each<IN, OUT>(x + first, out + first, min(count - first, i64{kPiece}), static_scale(block_amax, of));
  }
#else
  Neighbours<IN, kPiece> coming;
  f32 coming_amax = 0.0f;
  const auto load = [&](i64 i) {
    coming = {};
    const i64 first = i * kPiece;
    if (first >= count) return;
    coming.template load<ALIGNED>(x + first, count - first);
    if constexpr (SCALE != SCALE_one) coming_amax = amax[first / BLOCK];
  };
  load(thread);
  DIECAST_NO_UNROLL
  for (i64 i = thread; i * kPiece < count; i += gridDim.x * THREADS) {  // few numbers live in a call
    const Neighbours<IN, kPiece> piece = coming;
    const f32 p = static_scale(coming_amax, of);
    load(i + gridDim.x * THREADS);
    const i64 first = i * kPiece;
    store_fp4_fake<ALIGNED, IN, OUT>(piece, x + first, out + first, count - first, fp4_limits_or_zeros(p));
  }
#endif
}
