// NVFP4 as engines and trainers compute it for speed: te_fast, whose factor is a bf16, and FlashInfer
// in its exact and its fast mode, both of which flush subnormals to zero. Formulas: PROFILES.md.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/nvfp4.h>

namespace diecast {

#define DIECAST_SIXTH 0x1.555556p-3f  // fl(1/6); a constant would be an object of every kernel

// Two numbers of a tensor or a row; which ones is the profile's.
struct ProfileGlobal {
  f32 encode, decode;
};

// ---- te_fast: encode = S, decode = S * fl(1/6) ----

DIECAST_DEVICE ProfileGlobal te_fast_global(f32 amax) {
  f32 encode = fminf(quotient(2688.0f, amax), kLargest);
  if (amax == 0.0f || encode == 0.0f) encode = 1.0f;
  return {encode, __fmul_rn(encode, DIECAST_SIXTH)};
}

DIECAST_DEVICE f32 te_fast_factor(e4m3 scale, const ProfileGlobal& global) {
  const f32 factor = quotient(global.encode, f32_from_e4m3(scale));
  return to_f32(from_f32<bf16>(fminf(factor, 0x1.FEp127f)));  // the largest bf16
}

// ---- FlashInfer. Exact: encode = G * fl(1/6), decode = 1 / G. Fast: encode = G, decode = near 1 / G.

DIECAST_DEVICE f32 flushed(f32 x) {
  const u32 word = __float_as_uint(x);
  return __uint_as_float((word & 0x7F800000u) == 0 ? word & 0x80000000u : word);
}

DIECAST_DEVICE f32 flushed_product(f32 a, f32 b) {
  return flushed(__fmul_rn(flushed(a), flushed(b)));
}

// The processor's own approximation; a host never runs it (a `require` of the templates).
DIECAST_DEVICE f32 near_reciprocal(f32 x) {
#if DIECAST_HOST
  return 1.0f / x;
#else
  f32 near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(x));
  return near;
#endif
}

template <bool Fast>
DIECAST_DEVICE ProfileGlobal flashinfer_global(f32 given) {
  if constexpr (Fast) return {flushed(given), near_reciprocal(given)};
  return {flushed_product(given, DIECAST_SIXTH), flushed(quotient(1.0f, flushed(given)))};
}

template <bool Fast>
DIECAST_DEVICE e4m3 flashinfer_block_scale(f32 block_amax, const ProfileGlobal& global) {
  if constexpr (Fast) {
    const f32 sixth = flushed_product(block_amax, near_reciprocal(6.0f));
    return e4m3_from_f32(flushed_product(global.encode, sixth));
  }
  if (flushed(block_amax) == 0.0f) return {0};
  return e4m3_from_f32(flushed_product(block_amax, global.encode));
}

template <bool Fast>
DIECAST_DEVICE f32 flashinfer_factor(f32 block_amax, e4m3 scale, const ProfileGlobal& global) {
  if (flushed(block_amax) == 0.0f) return 0.0f;
  const f32 step = flushed_product(f32_from_e4m3(scale), global.decode);
  if constexpr (Fast) return near_reciprocal(step);
  return fminf(flushed(quotient(1.0f, step)), kLargest);
}

}  // namespace diecast
