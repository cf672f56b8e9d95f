// pow, in f64 inside, with the special cases of IEEE 754; see math.h. Errors at most: pow 0.51 ulp.
#pragma once

#include <diecast/device/math/exp.h>
#include <diecast/device/math/log.h>

namespace diecast::math {

// log2 of a finite x > 0.
DIECAST_DEVICE double log2_of(f32 x) {
  const Factors of = factors_of(x);
  const double m = of.m;
  const double z = (m - 1.0) / (m + 1.0), s = z * z;  // log m = 2 atanh z
  constexpr double kTwice = 2.885390081777927;        // 2 / ln 2
  double p = kTwice / 15;
  DIECAST_UNROLL
  for (int odd = 13; odd > 0; odd -= 2) p = p * s + kTwice / odd;
  return of.e + z * p;
}

// 2^y, rounded to f32 once.
DIECAST_DEVICE f32 exp2_of(double y) {
  constexpr double kTerms[] = {1.0,
                               0.6931471805599453,
                               0.24022650695910072,
                               0.05550410866482158,
                               0.009618129107628477,
                               0.0013333558146428443,
                               0.0001540353039338161,
                               1.5252733804059841e-05,
                               1.321548679014431e-06,
                               1.01780860092397e-07,
                               7.054911620801123e-09};  // (ln 2)^i / i!
  if (!(y < 129.0)) return y == y ? __uint_as_float(0x7F800000u) : __uint_as_float(0x7FFFFFFFu);
  if (y < -151.0) return 0.0f;
  const int k = static_cast<int>(y < 0 ? y - 0.5 : y + 0.5);
  const double r = y - k;
  double p = kTerms[10];
  DIECAST_UNROLL
  for (int i = 9; i >= 0; --i) p = p * r + kTerms[i];
  const int half = k / 2;
  return static_cast<f32>(p * (double{power_of_two(half)} * power_of_two(k - half)));
}

// Of an exponent: 0 no integer, 1 an odd one, 2 an even one.
DIECAST_DEVICE int parity_of(f32 y) {
  if (fabsf(y) >= 0x1p24f) return 2;
  const int whole = static_cast<int>(y);
  return static_cast<f32>(whole) != y ? 0 : whole % 2 != 0 ? 1 : 2;
}

DIECAST_DEVICE f32 pow(f32 x, f32 y) {
  constexpr u32 kInfinity = 0x7F800000u;
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return __uint_as_float(0x7FFFFFFFu);
  const f32 a = fabsf(x);
  const u32 of_a = __float_as_uint(a);
  if (fabsf(y) == __uint_as_float(kInfinity))
    return a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? __uint_as_float(kInfinity) : 0.0f;
  const int parity = parity_of(y);
  const u32 sign = parity == 1 ? __float_as_uint(x) & 0x80000000u : 0;
  f32 magnitude;
  if (of_a == 0 || of_a == kInfinity) {
    magnitude = (of_a == 0) == (y < 0.0f) ? __uint_as_float(kInfinity) : 0.0f;
  } else if (x < 0.0f && parity == 0) {
    return __uint_as_float(0x7FFFFFFFu);
  } else {
    magnitude = exp2_of(y * log2_of(a));
  }
  return __uint_as_float(__float_as_uint(magnitude) | sign);
}

}  // namespace diecast::math
