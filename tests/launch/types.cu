// Conversions of every element type and the arithmetic of pairs, a row of results a thread.
/* diecast
size     n
arg      x      in    f32 [n]
arg      out    out   u64 [n, 34]
arg      n
launch   grid(ceil_div(n, 64)) block(64)
exchange none
sample   n {64}
*/
#include <diecast/device/numbers/every_type.h>
#include <diecast/device/numbers/x2.h>

// A NaN has other bits on the host.
DIECAST_DEVICE u32 bits_of(f32 value) { return value == value ? __float_as_uint(value) : 0x7FFFFFFFu; }

template <class T>
DIECAST_DEVICE u64 there_and_back(f32 value) {
  const T there = from_f32<T>(value);
  u32 word;
  if constexpr (dtype_id<T> == dtype_id<f32>)
    word = bits_of(there);
  else if constexpr (bits<T>() == 8)
    word = __builtin_bit_cast(u8, there);
  else if constexpr (bits<T>() == 16)
    word = __builtin_bit_cast(u16, there);
  else
    word = __builtin_bit_cast(u32, there);
  return u64{word} << 32 ^ bits_of(to_f32(there));
}

template <class T>
DIECAST_DEVICE u64 of(X2<T> pair) {
  return u64{pair.y.bits} << 16 | pair.x.bits;
}

template <class T>
DIECAST_DEVICE u64* of_pairs(f32 value, f32 other, u64* next) {
  const X2<T> a = x2_from_f32<T>(value, other), b = x2_from_f32<T>(other, 3.0f), c = x2_from_f32<T>(value, 0.1f);
  *next++ = of(a);
  X2<T> sum = a, quotient = a;
  *next++ = of(sum += b);
  *next++ = of(a - b);
  *next++ = of(a * b);
  *next++ = of(quotient /= b);
  *next++ = of(-a);
  *next++ = of(fma(a, b, c));
  *next++ = of(max(a, b));
  *next++ = of(min(a, b));
  return next;
}

DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * 64 + threadIdx.x;
  if (i >= n) return;
  const f32 value = x[i];
  u64* next = out + i * 34;
  *next++ = there_and_back<bf16>(value);
  *next++ = there_and_back<f16>(value);
  *next++ = there_and_back<f32>(value);
  *next++ = there_and_back<e4m3>(value);
  *next++ = there_and_back<e5m2>(value);
  *next++ = there_and_back<e8m0>(value);
  *next++ = there_and_back<u8>(value);
  *next++ = there_and_back<i8>(value);
  *next++ = there_and_back<u16>(value);
  *next++ = there_and_back<i32>(value);
  *next++ = there_and_back<u32>(value);
  *next++ = static_cast<u64>(from_f32<i64>(value));
  *next++ = from_f32<u64>(value);
  *next++ = bits_of(to_f32(from_f32<f64>(value) / 3.0));
  *next++ = __float_as_uint(to_f32(u64{__float_as_uint(value)} << 29)) | u64{__float_as_uint(to_f32(i64{-1} - i))} << 32;
  next = of_pairs<f16>(value, x[(i + 1) % n], of_pairs<bf16>(value, x[(i + 1) % n], next));
  *next = static_cast<u64>(bits<f64>() + bits<i8>() * 100);
}
