// NVFP4 in profile te: sixteen elements become E2M1 codes and one E4M3 block scale under a global
// scale made of an amax. The formulas stand in templates/PROFILES.md; every product and quotient
// below is one f32 rounding, in this order.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/quotient.h>

namespace diecast {

inline constexpr f32 kLargest = 3.4028234663852886e38f;

struct Nvfp4Global {
  f32 encode_sixth;  // S * fl(1/6)
  f32 decode;        // 1 / S
};

// min(1 / x, largest float), for x of at least +0 and at most 2^126. On a GPU one Newton step in fused arithmetic rounds
// an approximation within one last place correctly (Markstein) where neither it nor x is subnormal: what is below 2^-126
// is moved there and back. Of 0 the step makes NaN, which gives way.
DIECAST_DEVICE f32 reciprocal(f32 x) {
#if DIECAST_HOST
  return fminf(1.0f / x, kLargest);
#else
  f32 found;
  asm("{\n .reg .f32 up, x, n;\n .reg .pred small;\n setp.lt.f32 small, %1, 0f00800000;\n"
      " selp.f32 up, 0f5F800000, 0f3F800000, small;\n mul.rn.f32 x, %1, up;\n rcp.approx.ftz.f32 n, x;\n"
      " neg.f32 x, x;\n fma.rn.f32 x, x, n, 0f3F800000;\n fma.rn.f32 n, x, n, n;\n mul.rn.f32 n, n, up;\n"
      " min.f32 %0, n, 0f7F7FFFFF;\n}"
      : "=f"(found)
      : "f"(x));
  return found;
#endif
}

// min(1 / step, largest float) of any step: reciprocal() wants one of at most 2^126.
DIECAST_DEVICE f32 factor_of_step(f32 step) { return fminf(quotient(1.0f, step), kLargest); }

// S = min(2688 / amax, largest float), 1 when that is 0 or amax is 0. On a GPU of what is seldom: by f64, which few GPUs
// are quick at. The quotients' inverses are within 2^-50 of themselves, and both quotients floats or at least 2^-49 of
// themselves away from what lies between two floats, subnormal ones too. Of 0 and of infinities the steps make NaN.
DIECAST_DEVICE Nvfp4Global nvfp4_global_of_any(f32 amax) {
  f32 encode, decode;
#if DIECAST_HOST
  encode = fminf(2688.0f / amax, kLargest);
  if (amax == 0.0f || encode == 0.0f) encode = 1.0f;
  decode = 1.0f / encode;
#else
#define DIECAST_INVERSE(x)                                                                \
  " cvt.f64.f32 b, " x                                                                    \
  ";\n rcp.approx.ftz.f64 near, b;\n neg.f64 b, b;\n"                                     \
  " fma.rn.f64 rest, b, near, 0d3FF0000000000000;\n fma.rn.f64 near, rest, near, near;\n" \
  " fma.rn.f64 rest, b, near, 0d3FF0000000000000;\n fma.rn.f64 near, rest, near, near;\n"
  asm("{\n .reg .f64 b, near, rest;\n .reg .pred none;\n" DIECAST_INVERSE("%2")
      " mul.rn.f64 near, near, 0d40A5000000000000;\n cvt.rn.f32.f64 %0, near;\n min.f32 %0, %0, 0f7F7FFFFF;\n"
      " testp.infinite.f32 none, %2;\n setp.eq.or.f32 none, %2, 0f00000000, none;\n"
      " selp.f32 %0, 0f3F800000, %0, none;\n" DIECAST_INVERSE("%0") " cvt.rn.f32.f64 %1, near;\n"
      " testp.infinite.f32 none, %0;\n selp.f32 %1, 0f80000000, %1, none;\n}"  // of a negative amax
      : "=&f"(encode), "=f"(decode)
      : "f"(amax));
#undef DIECAST_INVERSE
#endif
  return {__fmul_rn(encode, 0x1.555556p-3f), decode};
}

#if !DIECAST_HOST
// An amax from 2^-48 on and below 2^60: nothing on the way to its S is subnormal or infinite.
DIECAST_DEVICE bool nvfp4_is_ordinary(f32 amax) {
  constexpr u32 kFirst = 0x27800000u, kBehind = 0x5D800000u;
  return __float_as_uint(amax) - kFirst < kBehind - kFirst;
}

// The same of such an amax: an approximate reciprocal and one correction; 1 / S is corrected from
// amax / 2688, so that it does not wait for another one. A test tries every mantissa.
DIECAST_DEVICE Nvfp4Global nvfp4_global_of_ordinary(f32 amax) {
  f32 near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(amax));
  f32 encode = __fmul_rn(near, 2688.0f), decode = __fmul_rn(amax, 0x1.861862p-12f);
  encode = __fmaf_rn(__fmaf_rn(-amax, encode, 2688.0f), near, encode);
  decode = __fmaf_rn(__fmaf_rn(-encode, decode, 1.0f), decode, decode);
  return {__fmul_rn(encode, 0x1.555556p-3f), decode};
}
#endif

// S without a call where it is ordinary: a launch of few rows waits for each jump to code that is far away.
DIECAST_DEVICE Nvfp4Global nvfp4_global(f32 amax) {
#if DIECAST_HOST
  return nvfp4_global_of_any(amax);
#else
  Nvfp4Global global = nvfp4_global_of_ordinary(amax);
  if (!nvfp4_is_ordinary(amax)) global = nvfp4_global_of_any(amax);
  return global;
#endif
}

DIECAST_DEVICE e4m3 nvfp4_block_scale(f32 block_amax, const Nvfp4Global& global) {
  return e4m3_from_f32(__fmul_rn(block_amax, global.encode_sixth));
}

// What elements are multiplied by before they are rounded to E2M1.
DIECAST_DEVICE f32 nvfp4_encode_factor(e4m3 scale, const Nvfp4Global& global) {
  return reciprocal(__fmul_rn(f32_from_block_scale(scale), global.decode));
}

// The scale nearest to `wanted`, and what it makes of elements; anything where that is NaN, or on a GPU before 8.9 negative.
struct ScaleAndFactor {
  e4m3 scale;
  f32 step;    // the scale times `decode`
  f32 factor;  // 1 / step, at most `most`

  DIECAST_DEVICE ScaleAndFactor(e4m3 any, const Nvfp4Global& global)
      : scale(any), step(__fmul_rn(f32_from_block_scale(any), global.decode)), factor(reciprocal(step)) {}

  // The factor as reciprocal() has it, which only a scale of 0 needs the minimum of: there the sum is NaN and
  // gives way. On a GPU one piece of assembly, for the sake of the compiler's time. (With `decode` and `most` times powers of two
  // so is the factor.)
  DIECAST_DEVICE ScaleAndFactor(f32 wanted, f32 decode, f32 most = kLargest) {
#if DIECAST_HOST
    scale = e4m3_from_f32(wanted);
    step = __fmul_rn(f32_from_block_scale(scale), decode);
    factor = fminf(1.0f / step, most);
#else
#if DIECAST_HAS_E4M3_CVT
#define DIECAST_SCALE_AND_VALUE                        \
  " cvt.rn.satfinite.e4m3x2.f32 %0, 0f00000000, %3;\n" \
  " cvt.rn.f16x2.e4m3x2 v, %0;\n mov.b32 {l, h}, v;\n cvt.f32.f16 v, l;\n"
#else  // as e4m3_from_f32_plain(), f32_from_block_scale()
#define DIECAST_SCALE_AND_VALUE                                                               \
  " min.f32 v, %3, 0f43E00000;\n and.b32 p, v, 0x7F800000;\n max.u32 p, p, 0x3C800000;\n"     \
  " add.u32 p, p, 0x0A000000;\n add.rn.f32 v, v, p;\n shr.u32 p, v, 20;\n add.u32 v, v, p;\n" \
  " add.u32 v, v, -1128;\n and.b32 v, v, 0xFF;\n cvt.u16.u32 %0, v;\n shl.b32 v, v, 20;\n"    \
  " mul.rn.f32 v, v, 0f7B800000;\n"
#endif
    u16 byte;
    asm("{\n .reg .b16 l, h;\n .reg .b32 v, p, n;\n" DIECAST_SCALE_AND_VALUE
        " mul.rn.f32 %1, v, %4;\n rcp.approx.ftz.f32 p, %1;\n neg.f32 n, %1;\n"
        " fma.rn.f32 n, n, p, 0f3F800000;\n fma.rn.f32 n, n, p, p;\n min.f32 %2, n, %5;\n}"
        : "=&h"(byte), "=&f"(step), "=f"(factor)
        : "f"(wanted), "f"(decode), "f"(most));
#undef DIECAST_SCALE_AND_VALUE
    scale = {static_cast<u8>(byte)};
#endif
  }
};

struct Nvfp4Block {
  u32 codes[2];  // element i in nibble i % 8 of word i / 8
  e4m3 scale;
};

// A block under `amax`: its own, or that of a 16x16 tile it is a row of.
template <class IN>
DIECAST_DEVICE Nvfp4Block nvfp4_block(const Block16<IN>& block, f32 amax, const Nvfp4Global& global) {
  Nvfp4Block out = {{0, 0}, nvfp4_block_scale(amax, global)};
  codes_of(block, nvfp4_encode_factor(out.scale, global), out.codes);
  return out;
}
template <class IN>
DIECAST_DEVICE Nvfp4Block nvfp4_block(const Block16<IN>& block, const Nvfp4Global& global) {
  return nvfp4_block(block, amax_of(block), global);
}

}  // namespace diecast
