// log and log2; see math.h. Errors at most: log 1.52 ulp, log2 1.06.
#pragma once

#include <diecast/device/numbers/convert.h>

namespace diecast::math {

// x = m * 2^e with m from sqrt(1/2) to sqrt(2), for finite x > 0.
struct Factors {
  f32 m;
  int e;
};
DIECAST_DEVICE Factors factors_of(f32 x) {
  constexpr u32 kRootOfHalf = 0x3F3504F3u;
  const bool subnormal = x < 0x1p-126f;
  if (subnormal) x = __fmul_rn(x, 0x1p23f);
  const u32 above = __float_as_uint(x) - kRootOfHalf;
  return {__uint_as_float((above & 0x7FFFFFu) + kRootOfHalf), (static_cast<int>(above) >> 23) - (subnormal ? 23 : 0)};
}

// x = (1 + f) * 2^e, factors_of(x), and log(1 + f) = f + t.
struct LogParts {
  f32 e, f, t;
};
DIECAST_DEVICE LogParts log_parts(f32 x) {
  const Factors of = factors_of(x);
  const f32 f = __fsub_rn(of.m, 1.0f);
  f32 p = 0x1.1475bp-4f;
  p = __fmaf_rn(p, f, -0x1.de0292p-4f);
  p = __fmaf_rn(p, f, 0x1.e6bf42p-4f);
  p = __fmaf_rn(p, f, -0x1.fc288ap-4f);
  p = __fmaf_rn(p, f, 0x1.233ba8p-3f);
  p = __fmaf_rn(p, f, -0x1.555c46p-3f);
  p = __fmaf_rn(p, f, 0x1.99a476p-3f);
  p = __fmaf_rn(p, f, -0x1.000006p-2f);
  p = __fmaf_rn(p, f, 0x1.555548p-2f);
  return {static_cast<f32>(of.e), f, __fmul_rn(__fmul_rn(f, f), __fmaf_rn(p, f, -0.5f))};
}

// Of 0, negative numbers, infinity and NaN; true if it is one of these.
DIECAST_DEVICE bool log_is_special(f32 x, f32& result) {
  if (__float_as_uint(x) - 1 < 0x7F7FFFFFu) return false;
  result = x == 0.0f ? __uint_as_float(0xFF800000u) : x < 0.0f ? __uint_as_float(0x7FFFFFFFu) : x;
  return true;
}

DIECAST_DEVICE f32 log(f32 x) {
  f32 special;
  if (log_is_special(x, special)) return special;
  const LogParts of = log_parts(x);
  const f32 high = __fmaf_rn(of.e, 0x1.62e4p-1f, of.f);  // 16 bits of ln 2
  return __fadd_rn(high, __fmaf_rn(of.e, 0x1.7f7d1cp-20f, of.t));
}

DIECAST_DEVICE f32 log2(f32 x) {
  f32 special;
  if (log_is_special(x, special)) return special;
  constexpr f32 kHigh = 0x1.715476p+0f, kLow = 0x1.4ae0cp-26f;  // 1 / ln 2
  const LogParts of = log_parts(x);
  return __fadd_rn(of.e, __fmaf_rn(of.f, kHigh, __fmaf_rn(of.f, kLow, __fmul_rn(of.t, kHigh))));
}

}  // namespace diecast::math
