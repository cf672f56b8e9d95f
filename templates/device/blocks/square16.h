// What the lanes of a warp that have lines of a 16x16 block find together: along rows those a multiple of
// RowLanes apart, along columns (RowLanes 0) eight neighbours with two columns each.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/threads/reduce.h>

namespace diecast {

// What is known of such a block of NVFP4.
struct Square {
  f32 amax;
  bool ordinary;  // whether the short way of nvfp4_ordinary.h may do for it
};

// One number of all these lanes' numbers, the same in all of them. All 32 lanes take part, `first` is the largest of
// `Steps` distances of lanes.
template <int Steps, class Combine>
DIECAST_DEVICE f32 of_square(f32 value, int first, const Combine& combine) {
  DIECAST_UNROLL
  for (int step = 0; step < Steps; ++step) value = combine(value, __shfl_xor_sync(0xFFFFFFFFu, value, first >> step));
  return value;
}

// Of the 16 lines, of which a lane has two, by rows 8 apart, of columns neighbours: the largest; the sum as a tree,
// lines 8 apart first.
DIECAST_DEVICE f32 largest_of_square(f32 line, f32 other, bool by_rows) {
  line = max_or_nan(line, other);
  DIECAST_NO_UNROLL
  for (int distance = by_rows ? 16 : 4, step = 0; step < 3; ++step, distance >>= 1) {
    line = max_or_nan(line, __shfl_xor_sync(0xFFFFFFFFu, line, distance));
  }
  return line;
}
DIECAST_DEVICE f32 sum_of_square(f32 line, f32 other, bool by_rows) {
  if (by_rows) line = __fadd_rn(line, other);
  DIECAST_NO_UNROLL
  for (int distance = by_rows ? 16 : 4, step = 0; step < 3; ++step, distance >>= 1) {
    line = __fadd_rn(line, __shfl_xor_sync(0xFFFFFFFFu, line, distance));
    other = __fadd_rn(other, __shfl_xor_sync(0xFFFFFFFFu, other, distance));
  }
  return by_rows ? line : __fadd_rn(line, other);
}

}  // namespace diecast
