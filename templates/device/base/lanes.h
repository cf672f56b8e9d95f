// What threads find out about one another in one step: lanes of like values, reductions of a warp,
// votes of a thread block.
#pragma once

#include <diecast/device/base/block.h>
#include <diecast/device/base/types.h>

#if !defined(__CUDACC__)

namespace diecast {

// The lanes of `mask` whose values have the same bits as this lane's.
template <class T>
DIECAST_DEVICE unsigned __match_any_sync(unsigned mask, T value, const char* file = __builtin_FILE(),
                                         unsigned line = __builtin_LINE()) {
  unsigned alike = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    const T other = host_shuffle(mask, value, lane, file, line);
    if (__builtin_memcmp(&other, &value, sizeof value) == 0) alike |= 1u << lane;
  }
  return alike;
}

// `mask` and 1 if all its lanes have the same bits, else 0 and 0.
template <class T>
DIECAST_DEVICE unsigned __match_all_sync(unsigned mask, T value, int* all, const char* file = __builtin_FILE(),
                                         unsigned line = __builtin_LINE()) {
  *all = __match_any_sync(mask, value, file, line) == mask;
  return *all != 0 ? mask : 0;
}

// `value` of every lane of `mask`, joined in the order of lanes.
template <class T, class Join>
DIECAST_DEVICE T host_reduce(unsigned mask, T value, const Join& join, const char* file, unsigned line) {
  T joined = value;
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    const T other = host_shuffle(mask, value, lane, file, line);
    joined = first ? other : join(joined, other);
    first = false;
  }
  return joined;
}

#define DIECAST_REDUCE(name, T, joined)                                                                                  \
  DIECAST_DEVICE T name(unsigned mask, T value, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { \
    return host_reduce(                                                                                                  \
        mask, value, [](T a, T b) { return static_cast<T>(joined); }, file, line);                                       \
  }
DIECAST_REDUCE(__reduce_add_sync, unsigned, a + b)
DIECAST_REDUCE(__reduce_add_sync, int, static_cast<unsigned>(a) + static_cast<unsigned>(b))
DIECAST_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
DIECAST_REDUCE(__reduce_min_sync, int, a < b ? a : b)
DIECAST_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
DIECAST_REDUCE(__reduce_max_sync, int, a > b ? a : b)
DIECAST_REDUCE(__reduce_and_sync, unsigned, a& b)
DIECAST_REDUCE(__reduce_or_sync, unsigned, a | b)
DIECAST_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef DIECAST_REDUCE

// How many threads of the thread block bring a predicate that is not 0. All its threads are on one
// operating-system thread: barriers alone keep one vote apart from the next.
DIECAST_DEVICE int __syncthreads_count(int predicate, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  static thread_local int votes;
  __syncthreads(file, line);
  votes = 0;
  __syncthreads(file, line);
  votes += predicate != 0;
  __syncthreads(file, line);
  return votes;
}

DIECAST_DEVICE int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  return __syncthreads_count(predicate, file, line) != 0;
}

DIECAST_DEVICE int __syncthreads_and(int predicate, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  return __syncthreads_count(predicate == 0, file, line) == 0;
}

}  // namespace diecast

#endif
