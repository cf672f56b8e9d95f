// Two or four numbers that are loaded and stored at once.
#pragma once

#include <diecast/device/base/block.h>

#if !defined(__CUDACC__)

namespace diecast {

#define DIECAST_VECTORS(T, of)                                   \
  struct alignas(8) of##2 {                                      \
    T x, y;                                                      \
  };                                                             \
  struct alignas(16) of##4 {                                     \
    T x, y, z, w;                                                \
  };                                                             \
  DIECAST_DEVICE of##2 make_##of##2(T x, T y) { return {x, y}; } \
  DIECAST_DEVICE of##4 make_##of##4(T x, T y, T z, T w) { return {x, y, z, w}; }
DIECAST_VECTORS(float, float)
DIECAST_VECTORS(int, int)
DIECAST_VECTORS(unsigned, uint)
#undef DIECAST_VECTORS

}  // namespace diecast

#endif
