// Two neighbouring elements of a 16-bit type in a word, on a GPU.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

#if !DIECAST_HOST

namespace diecast {

// The larger magnitudes of two pairs, NaN ignored; signs say nothing.
template <class T>
DIECAST_DEVICE u32 larger_pair(u32 a, u32 b) {
  constexpr bool kBf16 = dtype_id<T> == dtype_id<bf16>;
  u32 larger;
#if DIECAST_CC >= 86
  if constexpr (kBf16) {
    asm("max.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  } else {
    asm("max.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  }
#else
  a &= 0x7FFF7FFFu, b &= 0x7FFF7FFFu;
  if constexpr (kBf16) {
    asm("max.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  } else {
    asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  }
#endif
  return larger;
}

// A pair within [-limits, limits], which are two like positive numbers; NaN at one of the ends.
template <class T, bool NanIsUpper>
DIECAST_DEVICE u32 limited_pair(u32 pair, u32 limits) {
  const u32 lower = limits | 0x80008000u;
#define DIECAST_LIMITED(first, second)             \
  asm(first " %0, %0, %1;\n" second " %0, %0, %2;" \
      : "+r"(pair)                                 \
      : "r"(NanIsUpper ? limits : lower), "r"(NanIsUpper ? lower : limits))
  if constexpr (dtype_id<T> == dtype_id<bf16>) {
    if constexpr (NanIsUpper) {
      DIECAST_LIMITED("min.bf16x2", "max.bf16x2");
    } else {
      DIECAST_LIMITED("max.bf16x2", "min.bf16x2");
    }
  } else if constexpr (NanIsUpper) {
    DIECAST_LIMITED("min.f16x2", "max.f16x2");
  } else {
    DIECAST_LIMITED("max.f16x2", "min.f16x2");
  }
#undef DIECAST_LIMITED
  return pair;
}

template <class T>
DIECAST_DEVICE u32 pair_from_f32(f32 low, f32 high) {
  u32 pair;
  if constexpr (dtype_id<T> == dtype_id<bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(pair) : "f"(low), "f"(high));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(pair) : "f"(low), "f"(high));
  }
  return pair;
}

}  // namespace diecast

#endif
