// The element types of templates, by the names the header language uses, and what the renderer's
// asserts ask of them. Storage only: arithmetic happens in f32 after a conversion (convert.h).
#pragma once

// Before a loop of a few known steps: unrolled on a GPU, so that arrays it indexes stay in registers;
// left to the compiler on the host, which vectorizes it. Times: so often, a constant.
#if defined(__CUDACC__)
#define DIECAST_UNROLL _Pragma("unroll")
#define DIECAST_NO_UNROLL _Pragma("unroll 1")
#define DIECAST_PRAGMA(text) _Pragma(#text)
#define DIECAST_UNROLL_TIMES(count) DIECAST_PRAGMA(unroll count)
#else
#define DIECAST_UNROLL
#define DIECAST_NO_UNROLL
#define DIECAST_UNROLL_TIMES(count)
#endif

// A device function that is compiled once and called: for long code off the hot path, whose copies
// would cost compile time.
#if defined(__CUDACC__)
#define DIECAST_DEVICE_CALL inline __device__ __noinline__
#else
#define DIECAST_DEVICE_CALL inline
#endif

// Behind a lambda's parameters: code of a loop, on the host too, whose compiler would rather call it.
#if defined(__CUDACC__)
#define DIECAST_INLINED
#else
#define DIECAST_INLINED __attribute__((always_inline))
#endif

// The limits of C and C++.
#define INFINITY __builtin_bit_cast(float, 0x7F800000u)
#define NAN __builtin_bit_cast(float, 0x7FFFFFFFu)
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1p-126f
#define FLT_EPSILON 0x1p-23f
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1p-1022
#define DBL_EPSILON 0x1p-52
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-9223372036854775807LL - 1)
#define ULLONG_MAX 18446744073709551615ULL
#define INT8_MAX 127
#define INT8_MIN (-128)
#define UINT8_MAX 255
#define INT16_MAX 32767
#define INT16_MIN (-32768)
#define UINT16_MAX 65535
#define INT32_MAX INT_MAX
#define INT32_MIN INT_MIN
#define UINT32_MAX UINT_MAX
#define INT64_MAX LLONG_MAX
#define INT64_MIN LLONG_MIN
#define UINT64_MAX ULLONG_MAX

namespace diecast {

using f32 = float;
using f64 = double;
using i8 = signed char;
using u8 = unsigned char;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
struct e4m3 {
  u8 bits;
};
struct e5m2 {
  u8 bits;
};
struct e8m0 {
  u8 bits;
};

// bits(IN) of the header language.
template <class T>
constexpr int bits() {
  return static_cast<int>(sizeof(T)) * 8;
}

// IN == bf16 of the header language: the order is that of the library's DType.
template <class T>
constexpr int dtype_id = -1;
template <>
constexpr int dtype_id<bf16> = 0;
template <>
constexpr int dtype_id<f16> = 1;
template <>
constexpr int dtype_id<f32> = 2;
template <>
constexpr int dtype_id<e4m3> = 3;
template <>
constexpr int dtype_id<e5m2> = 4;
template <>
constexpr int dtype_id<e8m0> = 5;
template <>
constexpr int dtype_id<u8> = 6;
template <>
constexpr int dtype_id<i32> = 7;
template <>
constexpr int dtype_id<u32> = 8;
template <>
constexpr int dtype_id<i64> = 9;
template <>
constexpr int dtype_id<f64> = 10;
template <>
constexpr int dtype_id<i8> = 11;
template <>
constexpr int dtype_id<u16> = 12;
template <>
constexpr int dtype_id<u64> = 13;

// Functions of the header language, for the asserts. min and max stand apart: unqualified they would
// clash with CUDA's own.
namespace expression {
constexpr i64 min(i64 a, i64 b) { return a < b ? a : b; }
constexpr i64 max(i64 a, i64 b) { return a > b ? a : b; }
}  // namespace expression
constexpr i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
constexpr i64 align_up(i64 a, i64 b) { return ceil_div(a, b) * b; }

// A `size ... device` argument: in device memory when pointer is set, else value. With a pointer,
// value is the host's upper bound, which launch and memory were made for: no more than it counts,
// and no less than 0.
struct DeviceSize {
  const i64* pointer;
  i64 value;

#if defined(__CUDACC__)  // one piece of assembly, for the sake of the compiler's time
  i64 count() const {
    i64 count;
    asm volatile(
        "{\n .reg .pred p;\n mov.b64 %0, %2;\n setp.ne.u64 p, %1, 0;\n@p ld.global.b64 %0, [%1];\n min.s64 %0, %0, %2;\n max.s64 "
        "%0, %0, 0;\n}"
        : "=&l"(count)
        : "l"(pointer), "l"(value)
        : "memory");
    return count;
  }
#else
  constexpr i64 count() const { return pointer ? expression::max(expression::min(*pointer, value), 0) : value; }
#endif
};

// A `tensor_map` argument: the driver's CUtensorMap, which only a bulk copy reads.
struct alignas(64) TensorMap {
  u64 words[16];
};

}  // namespace diecast
