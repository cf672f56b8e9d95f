// What the lanes of a warp that have lines of a 16x16 block find together: along rows those a multiple of
// RowLanes apart, along columns (RowLanes 0) eight neighbours with two columns each.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// What is known of such a block of NVFP4.
struct Square {
  f32 amax;
  bool four;      // which of four over six's scales it gets
  bool ordinary;  // whether the short way of nvfp4_ordinary.h may do for it
};

// One number of all these lanes' numbers, the same in all of them. All 32 lanes take part.
template <int RowLanes, class Combine>
DIECAST_DEVICE f32 of_square(f32 value, const Combine& combine) {
DIECAST_UNROLL
  for (int distance = RowLanes == 0 ? 4 : 16; distance >= (RowLanes == 0 ? 1 : RowLanes); distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
  }
  return value;
}

// The sum of numbers of the 16 lines, `Count` of them a lane's, as a tree: lines 8 apart first.
template <int RowLanes, int Count>
DIECAST_DEVICE f32 sum_of_square(f32 (&of_lines)[Count]) {
  const auto sum = [](f32 a, f32 b) { return __fadd_rn(a, b); };
  if constexpr (RowLanes == 0) {
    static_assert(Count == 2, "a lane has two columns");
    return __fadd_rn(of_square<0>(of_lines[0], sum), of_square<0>(of_lines[1], sum));
  } else {
DIECAST_UNROLL
    for (int half = Count / 2; half > 0; half /= 2) {
DIECAST_UNROLL
      for (int i = 0; i < half; ++i) of_lines[i] = __fadd_rn(of_lines[i], of_lines[i + half]);
    }
    return of_square<RowLanes>(of_lines[0], sum);
  }
}

}  // namespace diecast
