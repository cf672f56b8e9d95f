// exp and exp2. Like all of math.h they take rounded operations alone, so that every target gives the
// same bits. Their errors, in units in the last place (ulp), are at most: exp 1.03, exp2 0.88.
#pragma once

#include <diecast/device/numbers/convert.h>

namespace diecast::math {

// 2^n, a normal number.
DIECAST_DEVICE f32 power_of_two(int n) { return __uint_as_float(static_cast<u32>(n + 127) << 23); }

// p * 2^n in one rounding, for p near 1 and n from -250 to 250.
DIECAST_DEVICE f32 scaled(f32 p, int n) {
  const int half = n >> 1;
  return __fmul_rn(__fmul_rn(p, power_of_two(half)), power_of_two(n - half));
}

// y * 2^n in one rounding, for n from -190 to 0 and |y| of at most 2^60.
struct DownBy {
  f32 of_64_more;  // 2^(n + 64)
  DIECAST_DEVICE explicit DownBy(int n) : of_64_more(power_of_two(n + 64)) {}
  DIECAST_DEVICE f32 of(f32 y) const { return __fmul_rn(__fmul_rn(y, of_64_more), 0x1p-64f); }
  DIECAST_DEVICE f32 of_plus(f32 y, f32 z) const { return __fmaf_rn(__fmul_rn(y, of_64_more), 0x1p-64f, z); }  // added to z
};

// The integer nearest to a number of less than 2^22, as a float and as an integer.
struct Nearest {
  f32 number;
  int integer;
};
DIECAST_DEVICE Nearest nearest(f32 x, f32 factor) {
  constexpr f32 kUnits = 12582912.0f;  // 1.5 * 2^23: its last place is 1
  const f32 sum = __fmaf_rn(x, factor, kUnits);
  return {__fsub_rn(sum, kUnits), static_cast<int>(__float_as_uint(sum) - __float_as_uint(kUnits))};
}

constexpr f32 kOneOverLn2 = 0x1.715476p+0f;

// exp(x) = p * 2^n, for |x| of at most 125; with a low part below its last place, exp(x + low).
struct ExpParts {
  f32 p;
  int n;
};
DIECAST_DEVICE f32 less_multiple_of_ln2(f32 x, f32 k) {
  return __fmaf_rn(k, -0x1.7f7d1cp-20f, __fmaf_rn(k, -0x1.62e4p-1f, x));  // 16 bits of ln 2 first, so that this is exact
}
// exp(r) - 1 and exp(r), for |r| of at most ln(2) / 2.
DIECAST_DEVICE f32 expm1_polynomial(f32 r) {
  f32 q = 0x1.6d6aacp-10f;
  q = __fmaf_rn(q, r, 0x1.123c46p-7f);
  q = __fmaf_rn(q, r, 0x1.5554cep-5f);
  q = __fmaf_rn(q, r, 0x1.55548ep-3f);
  q = __fmaf_rn(q, r, 0.5f);
  return __fmaf_rn(__fmul_rn(r, r), q, r);
}
DIECAST_DEVICE f32 exp_polynomial(f32 r) { return __fadd_rn(1.0f, expm1_polynomial(r)); }
DIECAST_DEVICE ExpParts exp_parts(f32 x) {
  const Nearest k = nearest(x, kOneOverLn2);
  return {exp_polynomial(less_multiple_of_ln2(x, k.number)), k.integer};
}
DIECAST_DEVICE ExpParts exp_parts(f32 x, f32 low) {
  const Nearest k = nearest(x, kOneOverLn2);
  return {exp_polynomial(__fadd_rn(less_multiple_of_ln2(x, k.number), low)), k.integer};
}

DIECAST_DEVICE f32 exp(f32 x) {
  x = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;  // infinity and 0 from there on; NaN stays
  const ExpParts parts = exp_parts(x);
  return scaled(parts.p, parts.n);
}

DIECAST_DEVICE f32 exp2(f32 x) {
  x = x > 129.0f ? 129.0f : x < -151.0f ? -151.0f : x;
  const Nearest k = nearest(x, 1.0f);
  const f32 r = __fsub_rn(x, k.number);
  f32 q = 0x1.4447b6p-13f;
  q = __fmaf_rn(q, r, 0x1.5f096p-10f);
  q = __fmaf_rn(q, r, 0x1.3b2a28p-7f);
  q = __fmaf_rn(q, r, 0x1.c6af7ap-5f);
  q = __fmaf_rn(q, r, 0x1.ebfbep-3f);
  q = __fmaf_rn(q, r, 0x1.62e43p-1f);
  return scaled(__fmaf_rn(q, r, 1.0f), k.integer);
}

}  // namespace diecast::math
