// bf16x2 and f16x2: two neighbours of a 16-bit type in one word, with arithmetic. Each result is
// computed in f32 and rounded once to the type.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/pairs.h>

namespace diecast {

#if !DIECAST_HOST  // what this namespace adds to must not hide what CUDA has
using ::fma;
using ::max;
using ::min;
#endif

template <class T>
struct alignas(4) X2 {
  T x, y;
};
using bf16x2 = X2<bf16>;
using f16x2 = X2<f16>;

template <class T>
DIECAST_DEVICE float2 to_f32(X2<T> pair) {
  return {to_f32(pair.x), to_f32(pair.y)};
}

template <class T>
DIECAST_DEVICE X2<T> x2_from_f32(f32 x, f32 y) {
#if DIECAST_HOST
  return {from_f32<T>(x), from_f32<T>(y)};
#else
  const u32 pair = pair_from_f32<T>(x, y);
  return {T{static_cast<u16>(pair)}, T{static_cast<u16>(pair >> 16)}};
#endif
}

#define DIECAST_X2_OPERATOR(symbol, assigned)                            \
  template <class T>                                                     \
  DIECAST_DEVICE X2<T> operator symbol(X2<T> a, X2<T> b) {               \
    const float2 left = to_f32(a), right = to_f32(b);                    \
    return x2_from_f32<T>(left.x symbol right.x, left.y symbol right.y); \
  }                                                                      \
  template <class T>                                                     \
  DIECAST_DEVICE X2<T>& operator assigned(X2<T>& a, X2<T> b) {           \
    return a = a symbol b;                                               \
  }
DIECAST_X2_OPERATOR(+, +=)
DIECAST_X2_OPERATOR(-, -=)
DIECAST_X2_OPERATOR(*, *=)
DIECAST_X2_OPERATOR(/, /=)
#undef DIECAST_X2_OPERATOR

template <class T>
DIECAST_DEVICE X2<T> operator-(X2<T> a) {
  return {T{static_cast<u16>(a.x.bits ^ 0x8000u)}, T{static_cast<u16>(a.y.bits ^ 0x8000u)}};
}

// a * b + c in f32 with one rounding there.
template <class T>
DIECAST_DEVICE X2<T> fma(X2<T> a, X2<T> b, X2<T> c) {
  const float2 left = to_f32(a), right = to_f32(b), more = to_f32(c);
  return x2_from_f32<T>(fmaf(left.x, right.x, more.x), fmaf(left.y, right.y, more.y));
}

// As fmaxf and fminf.
template <class T>
DIECAST_DEVICE X2<T> max(X2<T> a, X2<T> b) {
  const float2 left = to_f32(a), right = to_f32(b);
  return x2_from_f32<T>(fmaxf(left.x, right.x), fmaxf(left.y, right.y));
}
template <class T>
DIECAST_DEVICE X2<T> min(X2<T> a, X2<T> b) {
  const float2 left = to_f32(a), right = to_f32(b);
  return x2_from_f32<T>(fminf(left.x, right.x), fminf(left.y, right.y));
}

}  // namespace diecast
