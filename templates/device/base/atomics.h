// Atomics, relaxed, and loads of what no thread writes. On the host thread blocks run on several
// operating-system threads.
#pragma once

#include <diecast/device/base/block.h>
#include <diecast/device/base/types.h>

#if defined(__CUDACC__)

namespace diecast {

using ::__ldg;
using ::atomicAdd;
using ::atomicAnd;
using ::atomicCAS;
using ::atomicExch;
using ::atomicOr;
using ::atomicXor;

// CUDA has these of the unsigned word alone; bits are bits.
#define DIECAST_ATOMIC_OF_I64(name)                                                          \
  DIECAST_DEVICE i64 name(i64* address, i64 value) {                                         \
    return static_cast<i64>(name(reinterpret_cast<u64*>(address), static_cast<u64>(value))); \
  }
DIECAST_ATOMIC_OF_I64(atomicAdd)
DIECAST_ATOMIC_OF_I64(atomicExch)
DIECAST_ATOMIC_OF_I64(atomicAnd)
DIECAST_ATOMIC_OF_I64(atomicOr)
DIECAST_ATOMIC_OF_I64(atomicXor)
#undef DIECAST_ATOMIC_OF_I64
DIECAST_DEVICE i64 atomicCAS(i64* address, i64 compare, i64 value) {
  return static_cast<i64>(atomicCAS(reinterpret_cast<u64*>(address), static_cast<u64>(compare), static_cast<u64>(value)));
}

// The small element types.
template <class T, int = sizeof(T{}.bits)>
DIECAST_DEVICE T __ldg(const T* address) {
  return T{__ldg(&address->bits)};
}

}  // namespace diecast

#else

namespace diecast {

template <class T>
DIECAST_DEVICE T __ldg(const T* address) {
  return *address;
}

template <class T>
DIECAST_DEVICE T atomicAdd(T* address, decltype(T() + T()) value) {
  static_assert(T(1) / 2 == 0,
                "atomicAdd is of integers on the host: floats' sum would follow the blocks' order; add integers, or write a "
                "sum a block and add those in order");
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <class T>
DIECAST_DEVICE T atomicAnd(T* address, decltype(T() & T()) value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
DIECAST_DEVICE T atomicOr(T* address, decltype(T() | T()) value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T>
DIECAST_DEVICE T atomicXor(T* address, decltype(T() ^ T()) value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <class T>
DIECAST_DEVICE T atomicMax(T* address, decltype(T() + T()) value) {
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (old < value && !__atomic_compare_exchange_n(address, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
DIECAST_DEVICE T atomicMin(T* address, decltype(T() + T()) value) {
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (value < old && !__atomic_compare_exchange_n(address, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
DIECAST_DEVICE T atomicExch(T* address, decltype(T() + T()) value) {
  T old, given = value;
  __atomic_exchange(address, &given, &old, __ATOMIC_RELAXED);
  return old;
}
// What was there; `value` is there afterwards if that was `compare`.
template <class T>
DIECAST_DEVICE T atomicCAS(T* address, decltype(T() | T()) compare, decltype(T() | T()) value) {
  T old = compare;
  __atomic_compare_exchange_n(address, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return old;
}
DIECAST_DEVICE u32 atomicInc(u32* address, u32 last) {
  u32 old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, old >= last ? 0 : old + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
DIECAST_DEVICE u32 atomicDec(u32* address, u32 last) {
  u32 old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, old == 0 || old > last ? last : old - 1, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}
DIECAST_DEVICE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

}  // namespace diecast

#endif
