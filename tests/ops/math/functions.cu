// functions: what the functions of diecast/device/math make of the numbers with the bits first,
// first + step, ...; of two arguments under exponents. GIVES says what is told of the results: all
// of them; or one sum, whose exponents are drawn from the numbers' bits; or the largest error.
/* diecast
option   type  T        {f32, bf16, f16} = f32
option   bool  FAST     = false                                 // a GPU's own approximations
option   enum  GIVES    {results, sum, worst} = results
size     count
size     exponents                                              // a power of two
arg      function u32                                           // its place in functions.h
arg      first    u32
arg      step     u32
arg      y        in  u32  [GIVES == sum ? 0 : exponents]       // bits of a T, taken in turn
arg      out      out u32  [GIVES == results ? count : 0]       // bits of a T
arg      sum    inout u64  [GIVES == sum]                       // the bits of each result times its place, modulo 2^64, are added
arg      worst  inout u64  [GIVES == worst]                     // at least an error in ulp of T, its f32 above its place
arg      count
arg      exponents
launch   grid(min(ceil_div(count, 256), sm_count * 32)) block(256)
target   host, sm_80+
exchange none
sample   count {256}  exponents {16}
*/
#include <diecast/device/math/math.h>

#define DIECAST_EITHER(name) (FAST ? math::fast_##name(x) : math::name(x))
DIECAST_DEVICE T value(u32 of, T x, T y) {
  switch (of) {
    case 0: return DIECAST_EITHER(exp);
    case 1: return DIECAST_EITHER(exp2);
    case 2: return DIECAST_EITHER(log);
    case 3: return DIECAST_EITHER(log2);
    case 4: return DIECAST_EITHER(sqrt);
    case 5: return DIECAST_EITHER(rsqrt);
    case 6: return DIECAST_EITHER(sin);
    case 7: return DIECAST_EITHER(cos);
    case 8: return DIECAST_EITHER(tanh);
    case 9: return DIECAST_EITHER(sigmoid);
    case 10: return DIECAST_EITHER(silu);
    case 11: return DIECAST_EITHER(gelu);
    case 12: return DIECAST_EITHER(gelu_tanh);
    default: return FAST ? math::fast_pow(x, y) : math::pow(x, y);
  }
}

// The functions of f64: the C library's and CUDA's. CUDA's err by at most 6 ulp of f64, which is
// 2^-26 ulp of f32.
#if DIECAST_HOST
#define DIECAST_F64(name) __builtin_##name
#else
#define DIECAST_F64(name) ::name
#endif

// x times a share: nothing is left of -infinity.
DIECAST_DEVICE double share(double x, double of) { return x == -INFINITY ? -0.0 : x * of; }
DIECAST_DEVICE double sigmoid_of(double x) { return 1 / (1 + DIECAST_F64(exp)(-x)); }

DIECAST_DEVICE double exact(u32 of, double x, double y) {
  switch (of) {
    case 0: return DIECAST_F64(exp)(x);
    case 1: return DIECAST_F64(exp2)(x);
    case 2: return DIECAST_F64(log)(x);
    case 3: return DIECAST_F64(log2)(x);
    case 4: return DIECAST_F64(sqrt)(x);
    case 5: return 1 / DIECAST_F64(sqrt)(x);
    case 6: return DIECAST_F64(sin)(x);
    case 7: return DIECAST_F64(cos)(x);
    case 8: return DIECAST_F64(tanh)(x);
    case 9: return sigmoid_of(x);
    case 10: return share(x, sigmoid_of(x));
    case 11: return share(x, DIECAST_F64(erfc)(x * -0x1.6a09e667f3bcdp-1) / 2);  // 1 / sqrt(2)
    case 12: return share(x, sigmoid_of(0x1.9884533d43651p+0 * (x + 0.044715 * x * x * x)));  // sqrt(8 / pi)
    default: return DIECAST_F64(pow)(x, y);
  }
}

DIECAST_DEVICE u64 bits_of(double x) {
#if DIECAST_HOST
  return __builtin_bit_cast(u64, x);
#else
  return static_cast<u64>(__double_as_longlong(x));
#endif
}
DIECAST_DEVICE double power_of_2(int n) {  // a normal number
  const u64 bits = static_cast<u64>(1023 + n) << 52;
#if DIECAST_HOST
  return __builtin_bit_cast(double, bits);
#else
  return __longlong_as_double(static_cast<long long>(bits));
#endif
}

// A type's digits, and n of its least and its first absent power of two, 2^(n - 1) and 2^n.
struct Format {
  int digits, least, most;
};
DIECAST_DEVICE constexpr Format format_of(f32) { return {24, -125, 128}; }
DIECAST_DEVICE constexpr Format format_of(bf16) { return {8, -125, 128}; }
DIECAST_DEVICE constexpr Format format_of(f16) { return {11, -13, 16}; }

// How many units in the last place of T a result is from the value. Infinity stands where the next
// number would; a NaN or a zero's sign that is wrong counts as a billion.
DIECAST_DEVICE double ulps_from(double got, double value) {
  constexpr double kWrong = 1e9;
  constexpr Format kFormat = format_of(T{});
  if (got != got || value != value) return (got != got) == (value != value) ? 0 : kWrong;
  if (got == 0 && bits_of(got) >> 63 != bits_of(value) >> 63) return kWrong;
  const double limit = power_of_2(kFormat.most);
  const bool infinite = fabs(got) == INFINITY, beyond = fabs(value) > limit;
  const double at = beyond && infinite ? (value < 0 ? -limit : limit) : value;
  if (infinite) got = got < 0 ? -limit : limit;
  // |value| is at least half of 2^exponent and below it.
  const int exponent = static_cast<int>(bits_of(beyond ? limit : fabs(value)) >> 52) - 1022;
  return fabs(got - at) * power_of_2(kFormat.digits - min(max(exponent, kFormat.least), kFormat.most));
}

DIECAST_DEVICE u32 drawn(u32 bits) {
  bits = (bits ^ bits >> 16) * 0x7FEB352Du;
  return (bits ^ bits >> 15) * 0x846CA68Bu;
}

DIECAST_KERNEL {
#if DIECAST_HOST && defined(__AVX__)
  __builtin_ia32_vzeroupper();  // with upper halves in use each call of the C library costs 100 ns more
#endif
  u64 of_thread = 0;
  for (i64 i = i64{blockIdx.x} * 256 + threadIdx.x; i < count; i += i64{gridDim.x} * 256) {
    const u32 bits = first + static_cast<u32>(i) * step;
    const T number = from_bits<T>(bits);
    const T power = from_bits<T>(GIVES == GIVES_sum ? drawn(bits) : y[i & (exponents - 1)]);
    const T result = value(function, number, power);
    if constexpr (GIVES == GIVES_results) {
      out[i] = to_bits(result);
    } else if constexpr (GIVES == GIVES_sum) {
      const f32 told = to_f32(result);
      const u32 word = told == told ? to_bits(result) : 0x7FFFFFFFu;  // any NaN is one
      of_thread += u64{word} * (static_cast<u64>(i) * 2 + 1);
    } else {
      const double error = ulps_from(to_f32(result), exact(function, to_f32(number), to_f32(power)));
      of_thread = max(of_thread, u64{__float_as_uint(static_cast<f32>(error))} << 32 | static_cast<u32>(i));
    }
  }
  if constexpr (GIVES == GIVES_sum) atomicAdd(&sum[0], of_thread);
  if constexpr (GIVES == GIVES_worst) atomicMax(&worst[0], of_thread);
}
