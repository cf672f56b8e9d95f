// Largest magnitudes under one rule for NaN, of elements or of their random Hadamard transform
// rounded to the element type; and where those of many threads meet in memory.
/* diecast
option enum NANS {ignore, propagate} = ignore    // propagate: 0x7FFFFFFF where one is NaN
option enum RHT {none, rowwise, columnwise} = none  // of x, or of its random Hadamard transform in blocks of 16
let  TRANSFORMED = RHT != none
use  <diecast/device/blocks/hadamard.h>
let  DOWN = PER == column || RHT == columnwise   // threads go down columns
require RHT != rowwise || PER != column          // blocks along a row have no column of their own
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/blocks/hadamard.h>
#include <diecast/device/threads/reduce.h>
#include <diecast/device/threads/row_walk.h>

namespace diecast {

// `Aligned`: blocks of 16 are whole and start at multiples of 16 bytes. Rht: blocks along
// rows or columns are transformed; what is short of 16 is padded with zeros first.
// A magnitude is at least +0, and 0x7FFFFFFF for NaN where Propagate keeps one.
template <class IN, bool Aligned, int Rht, int Signs, bool Propagate>
struct AmaxOf {
  using Loaded = LoadedBlock16<IN>;

  DIECAST_DEVICE static f32 larger(f32 a, f32 b) { return Propagate ? max_or_nan(a, b) : fmaxf(a, b); }

  // Of sixteen neighbours of a row, or the `count` that are left.
  DIECAST_DEVICE static f32 block(const IN* from, i64 count) {
    Loaded block;
    if constexpr (Aligned) {
      block = load_block16(from);
    } else {
      block = load_block16_elements(from, count);
    }
    return block16(block);
  }
  DIECAST_DEVICE static f32 block16(Loaded block) {
    if constexpr (Rht == RHT_rowwise) block = hadamard16(block, Signs);
    if constexpr (Propagate) {
      return amax_or_nan(block);
    } else {
      return amax_of(block);
    }
  }

  // Of whole blocks of 16 that lie one behind another, of which a thread takes its share.
  DIECAST_DEVICE static f32 blocks(const IN* from, const Share& share) {
    f32 found = 0.0f;
    DIECAST_NO_UNROLL
    for (i64 i = share.first; i < share.last; i += share.step) {
      found = larger(found, block16(load_block16(from + i * 16)));
    }
    return found;
  }

  // Of `count` elements of a column, rows `stride` apart.
  DIECAST_DEVICE static f32 down(const IN* from, i64 stride, i64 count) {
    f32 found = 0.0f;
    DIECAST_NO_UNROLL
    for (; count > 0; count -= 16, from += 16 * stride) {
      IN elements[16];
      DIECAST_UNROLL
      for (int i = 0; i < 16; ++i) elements[i] = i < count ? from[i * stride] : IN{};
      f32 values[16];
      DIECAST_UNROLL
      for (int i = 0; i < 16; ++i) values[i] = to_f32(elements[i]);
      if constexpr (Rht == RHT_columnwise) hadamard16(values, Signs);
      DIECAST_UNROLL
      for (int i = 0; i < 16; ++i) {
        if constexpr (Rht == RHT_columnwise) values[i] = to_f32(from_f32<IN>(values[i]));
        found = larger(found, fabsf(values[i]));
      }
    }
    return found == found ? found : __uint_as_float(0x7FFFFFFFu);
  }

  // Into memory that holds a magnitude already.
  DIECAST_DEVICE static void meet(f32* at, f32 found) { atomicMax(reinterpret_cast<u32*>(at), __float_as_uint(found)); }
  // The same of all lanes of a warp.
  DIECAST_DEVICE static void meet_warp(f32* at, f32 found) {
    found = warp_reduce_max(found);
    if (threadIdx.x % 32 == 0) meet(at, found);
  }
  // The same of all threads of a block: at one address maxima meet one after another.
  template <int Threads>
  DIECAST_DEVICE static void meet_block(f32* at, f32 found) {
#if DIECAST_HOST
    meet_warp(at, found);
#else
    found = block_reduce_max<Threads>(found, 0);
    if (threadIdx.x == 0) meet(at, found);
#endif
  }
};

}  // namespace diecast
