// The words of floats: their bits, operations that round by themselves, minima and maxima of
// numbers of any kind.
#pragma once

#include <diecast/device/base/block.h>

#if !defined(__CUDACC__)

namespace diecast {

DIECAST_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
DIECAST_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
DIECAST_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
DIECAST_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }

DIECAST_DEVICE float __fadd_rn(float a, float b) { return a + b; }
DIECAST_DEVICE float __fsub_rn(float a, float b) { return a - b; }
DIECAST_DEVICE float __fmul_rn(float a, float b) { return a * b; }
DIECAST_DEVICE float __fdiv_rn(float a, float b) { return a / b; }
DIECAST_DEVICE float __frcp_rn(float a) { return 1.0f / a; }
DIECAST_DEVICE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DIECAST_DEVICE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
DIECAST_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DIECAST_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
DIECAST_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
DIECAST_DEVICE double fabs(double x) { return __builtin_fabs(x); }

// A NaN gives way to the other operand; +0 is above -0. (The compiler's own would call libm.)
DIECAST_DEVICE float fmaxf(float a, float b) {
  float result = a > b ? a : b;
  if (a == b) result = __uint_as_float(__float_as_uint(a) & __float_as_uint(b));
  return b != b ? a : result;
}
DIECAST_DEVICE float fminf(float a, float b) {
  float result = a < b ? a : b;
  if (a == b) result = __uint_as_float(__float_as_uint(a) | __float_as_uint(b));
  return b != b ? a : result;
}

// The operand pairs that CUDA has, with its result types.
#define DIECAST_MIN_MAX(T, A, B)                                 \
  DIECAST_DEVICE constexpr T min(A left, B right) {              \
    const T a = static_cast<T>(left), b = static_cast<T>(right); \
    return a < b ? a : b;                                        \
  }                                                              \
  DIECAST_DEVICE constexpr T max(A left, B right) {              \
    const T a = static_cast<T>(left), b = static_cast<T>(right); \
    return a > b ? a : b;                                        \
  }
DIECAST_MIN_MAX(int, int, int)
DIECAST_MIN_MAX(unsigned, unsigned, unsigned)
DIECAST_MIN_MAX(unsigned, int, unsigned)
DIECAST_MIN_MAX(unsigned, unsigned, int)
DIECAST_MIN_MAX(long, long, long)
DIECAST_MIN_MAX(unsigned long, unsigned long, unsigned long)
DIECAST_MIN_MAX(long long, long long, long long)
DIECAST_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
DIECAST_MIN_MAX(unsigned long long, long long, unsigned long long)
DIECAST_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef DIECAST_MIN_MAX
DIECAST_DEVICE float min(float a, float b) { return fminf(a, b); }
DIECAST_DEVICE float max(float a, float b) { return fmaxf(a, b); }

}  // namespace diecast

#endif
