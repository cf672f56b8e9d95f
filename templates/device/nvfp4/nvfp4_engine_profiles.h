// NVFP4 as engines and trainers compute it for speed: te_fast, whose factor is a bf16, and FlashInfer
// in the exact and the fast mode of its two back ends. Formulas: PROFILES.md.
#pragma once

#include <diecast/device/numbers/convert.h>
#include <diecast/device/nvfp4/nvfp4.h>

namespace diecast {

#define DIECAST_SIXTH 0x1.555556p-3f  // fl(1/6); a constant would be an object of every kernel

// Two numbers of a tensor or a row; which ones is the profile's.
struct ProfileGlobal {
  f32 encode, decode;
};

#if !DIECAST_NO_PROFILE

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

// Flushes: the CUDA back end, to which subnormals are zeros; else the CuTe-DSL one, which keeps them
// but in approximations. OfToken: G is made of a row's amax, else given.
template <bool Fast, bool Flushes, bool OfToken>
struct Flashinfer {
  DIECAST_DEVICE static f32 flushed(f32 x) {
    if constexpr (!Flushes) return x;
    const u32 word = __float_as_uint(x);
    return __uint_as_float((word & 0x7F800000u) == 0 ? word & 0x80000000u : word);
  }

  DIECAST_DEVICE static f32 product(f32 a, f32 b) { return flushed(__fmul_rn(flushed(a), flushed(b))); }

  DIECAST_DEVICE static ProfileGlobal global(f32 given) {
    if constexpr (OfToken && Fast) {
      given = near_reciprocal(product(given, 0x1.861862p-12f));  // fl(1/2688)
    } else if constexpr (OfToken) {
      const f32 amax = flushed(given);
      given = fminf(quotient(2688.0f, amax), kLargest);
      if (amax == 0.0f) given = kLargest;  // -0 too
      if (given == 0.0f) given = 1.0f;
    }
    // Flushed first, as the instruction does by itself: of two in a row the assembler makes none.
    given = flushed(given);
    if constexpr (Fast) return {given, near_reciprocal(given)};
    return {product(given, DIECAST_SIXTH), flushed(quotient(1.0f, flushed(given)))};
  }

  DIECAST_DEVICE static e4m3 block_scale(f32 block_amax, const ProfileGlobal& global) {
    if constexpr (Fast) {
      return e4m3_from_f32(product(global.encode, product(block_amax, near_reciprocal(6.0f))));
    }
    if (flushed(block_amax) == 0.0f) return {0};
    return e4m3_from_f32(product(block_amax, global.encode));
  }

  // The zero test is of the block's amax, but in the fast mode of CuTe-DSL of the byte.
  DIECAST_DEVICE static f32 factor(f32 block_amax, e4m3 scale, const ProfileGlobal& global) {
    const f32 value = f32_from_e4m3(scale);
    if ((Fast && !Flushes ? value : flushed(block_amax)) == 0.0f) return 0.0f;
    const f32 step = product(value, global.decode);
    if constexpr (Fast) return near_reciprocal(step);
    const f32 exact = flushed(quotient(1.0f, step));
    return OfToken ? exact : fminf(exact, kLargest);
  }
};

#endif

}  // namespace diecast
