// Division of floats, rounded once: the bits of `a / b` on any processor. The compiler's own takes
// a third of an empty kernel's time to compile, this a quarter of that.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// a / b of any floats, by f64, which few GPUs are quick at. The quotient of two floats is a float's
// midpoint exactly or at least 2^-49 of itself away from each. One Newton step leaves an error of
// 2^-38, the correction by the exact remainder 2^-76: a quotient that an f64 holds comes out exact,
// and every other on its own side of the midpoint. A sign, infinity and NaN are the first product's:
// corrections lose them.
DIECAST_DEVICE f32 quotient_of_any(f32 a, f32 b) {
#if DIECAST_HOST
  return a / b;
#else
  f32 q;
  asm("{\n"
      " .reg .f64 a, b, near, rest, q, exact;\n"
      " .reg .pred finite;\n"
      " cvt.f64.f32 a, %1;\n"
      " cvt.f64.f32 b, %2;\n"
      " rcp.approx.ftz.f64 near, b;\n"
      " mul.rn.f64 q, a, near;\n"
      " neg.f64 b, b;\n"
      " fma.rn.f64 rest, b, near, 0d3FF0000000000000;\n"  // 1
      " fma.rn.f64 near, rest, near, near;\n"
      " mul.rn.f64 exact, a, near;\n"
      " fma.rn.f64 rest, b, exact, a;\n"
      " fma.rn.f64 exact, rest, near, exact;\n"
      " testp.finite.f64 finite, exact;\n"
      " copysign.f64 exact, q, exact;\n"
      " selp.f64 q, exact, q, finite;\n"
      " cvt.rn.f32.f64 %0, q;\n"
      "}"
      : "=f"(q)
      : "f"(a), "f"(b));
  return q;
#endif
}

#if !DIECAST_HOST

// a / b where neither's magnitude is below 2^-60 or from 2^61 on: nothing on the way is subnormal.
// An approximate reciprocal of b, one Newton step, and two corrections by the exact remainder.
DIECAST_DEVICE f32 quotient_of_ordinary(f32 a, f32 b) {
  f32 q;
  asm("{\n"
      " .reg .f32 near, minus, rest, q;\n"
      " rcp.approx.ftz.f32 near, %2;\n"
      " neg.f32 minus, %2;\n"
      " fma.rn.f32 rest, minus, near, 0f3F800000;\n"  // 1
      " fma.rn.f32 near, rest, near, near;\n"
      " mul.rn.f32 q, %1, near;\n"
      " fma.rn.f32 rest, minus, q, %1;\n"
      " fma.rn.f32 q, rest, near, q;\n"
      " fma.rn.f32 rest, minus, q, %1;\n"
      " fma.rn.f32 %0, rest, near, q;\n"
      "}"
      : "=f"(q)
      : "f"(a), "f"(b));
  return q;
}

// Many numbers by one: whether b is positive, at least 2^First, below 2^Behind, and its mantissa not
// all ones; then
template <int First, int Behind>
DIECAST_DEVICE bool has_inverse(f32 b) {
  const u32 word = __float_as_uint(b);
  return word - (u32{127 + First} << 23) < u32{Behind - First} << 23 && (~word & 0x007FFFFFu) != 0;
}
// is 1 / b, rounded; from 2^-120 to 2^120.
DIECAST_DEVICE f32 inverse_of(f32 b) {
  f32 near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(b));
  return __fmaf_rn(__fmaf_rn(-b, near, 1.0f), near, near);
}

// a / b with b's inverse, rounded to a code of E2M1 or compared with a number of few digits as if it
// were rounded once: a / b is seldom so near to a midpoint of floats that the second correction
// changes anything, and never beside a midpoint of E2M1, which a test tries for every mantissa of b.
DIECAST_DEVICE f32 quotient_for_e2m1(f32 a, f32 b, f32 inverse) {
  const f32 q = __fmul_rn(a, inverse);
  return __fmaf_rn(__fmaf_rn(-b, q, a), inverse, q);
}

// a / b with b's inverse: as quotient_of_ordinary().
DIECAST_DEVICE f32 quotient_by_inverse(f32 a, f32 b, f32 inverse) {
  const f32 q = quotient_for_e2m1(a, b, inverse);
  return __fmaf_rn(__fmaf_rn(-b, q, a), inverse, q);
}

#endif

// Compiled once and called.
DIECAST_DEVICE_CALL f32 quotient(f32 a, f32 b) {
#if DIECAST_HOST
  return a / b;
#else
  constexpr u32 kFirst = 67u << 23, kBehind = 188u << 23;  // 2^-60, 2^61
  const bool ordinary = (__float_as_uint(a) & 0x7FFFFFFFu) - kFirst < kBehind - kFirst &&
                        (__float_as_uint(b) & 0x7FFFFFFFu) - kFirst < kBehind - kFirst;
  return ordinary ? quotient_of_ordinary(a, b) : quotient_of_any(a, b);
#endif
}

// x / Divisor, for |x| of at least 2^-80 (smaller ones may come out one last place off; +-0 does
// not). 1 / Divisor is high + low, and the fused sum of both products rounds as the division does:
// true of these divisors for every x, which a test tries.
template <int Divisor>
DIECAST_DEVICE f32 quotient_by(f32 x) {
  static_assert(Divisor == 6 || Divisor == 1536 || Divisor == 2688, "others are not tested");
#if DIECAST_HOST
  return x / Divisor;
#else
  constexpr f32 kHigh = static_cast<f32>(1.0 / Divisor);
  constexpr f32 kLow = static_cast<f32>(1.0 / Divisor - static_cast<double>(kHigh));
  return __fmaf_rn(x, kHigh, __fmul_rn(x, kLow));
#endif
}

}  // namespace diecast
