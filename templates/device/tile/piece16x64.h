// A warp's piece of a matrix in shared memory of its own: 16 rows and 64 columns, zeros beyond the
// matrix's edges. Read once from memory, while the warp does something else, then taken apart into
// blocks of 16 neighbours along either side, two for a lane: of rows lane / 4 and lane / 4 + 8 (block
// lane % 4 of each), and of columns 2 * lane and 2 * lane + 1.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16_data.h>
#include <diecast/device/memory/async_copy.h>
#include <diecast/device/memory/vector.h>

namespace diecast {

template <class IN>
DIECAST_DEVICE Block16<IN> load_whole(const IN* x) {
  return load_block16(x);
}
// In a call: all bytes are converted, and pieces begin at several places.
DIECAST_DEVICE_CALL Block16<f16> load_whole(const e4m3* x) { return load_block16(x); }
// In a call: in place it takes registers of all that a lane keeps meanwhile.
template <class IN>
DIECAST_DEVICE_CALL LoadedBlock16<IN> load_elements_called(const IN* x, int count) {
  return load_block16_elements(x, count);
}

// `Aligned`: rows are whole blocks of 16 and start at multiples of 16 bytes.
template <class IN, bool Aligned>
struct Piece16x64 {
  using Block = LoadedBlock16<IN>;
  static constexpr int kBlockWords = Block::kWords;
  static constexpr bool kCopied = Aligned && bits<IN>() >= 16;  // as it is in memory, by the hardware
  // Four words more than a row has: what eight lanes read together lies in different banks.
  static constexpr int kPitch = 4 * kBlockWords + 4;
  static constexpr int kWords = 16 * kPitch;

  u32* words;  // kWords of them, at a multiple of 16 bytes, the warp's own

  // What a lane reads begins at this row and column of the piece.
  static constexpr int kRowLanes = kCopied ? kBlockWords : 4, kRows = 32 / kRowLanes;
  DIECAST_DEVICE static int lane_row() { return threadIdx.x % 32 / kRowLanes; }
  DIECAST_DEVICE static int lane_col() { return threadIdx.x % kRowLanes * (64 / kRowLanes); }

  // Begins to read a piece. From the lane's first element, at `x`, on the matrix has `rows` x `cols`: perhaps
  // none, perhaps more than a piece. All lanes; none of them reads the piece before any more.
  DIECAST_DEVICE void begin(const IN* x, i64 stride, int rows, int cols) const {
    u32* to = words + lane_row() * kPitch + lane_col() * kBlockWords / 16;
    __syncwarp();
    if constexpr (kCopied) {
      DIECAST_UNROLL
      for (int i = 0; i < 16; i += kRows, x += kRows * stride)
        copy_async<16>(shared_place(to) + 4 * i * kPitch, x, i < rows && cols > 0);
    } else {
      DIECAST_NO_UNROLL
      for (int i = 0; i < 16; i += kRows, x += kRows * stride) {
        Block block;
        load_one(x, i < rows, cols, block);
        DIECAST_UNROLL
        for (int w = 0; w < kBlockWords; ++w) to[i * kPitch + w] = block.words[w];
      }
    }
  }

  // Two blocks along rows that are `Apart` apart, from memory itself: the first is at `x`, where the matrix has
  // `rows` x `cols`.
  template <int Apart>
  DIECAST_DEVICE static void load(const IN* x, i64 stride, int rows, int cols, Block (&two)[2]) {
    DIECAST_UNROLL
    for (int i = 0; i < 2; ++i, x += Apart * stride) load_one(x, i * Apart < rows, cols, two[i]);
  }

  // All lanes, before they read it.
  DIECAST_DEVICE void wait() const {
    if constexpr (kCopied) wait_for_copies();
    __syncwarp();
  }

  DIECAST_DEVICE Block row(int i) const {
    const int lane = threadIdx.x % 32;
    const u32* from = words + (lane / 4 + 8 * i) * kPitch + lane % 4 * kBlockWords;
    Block block;
    DIECAST_UNROLL
    for (int w = 0; w < kBlockWords; w += 4) {
      const Vector<16> v = *reinterpret_cast<const Vector<16>*>(from + w);
      DIECAST_UNROLL
      for (int j = 0; j < 4; ++j) block.words[w + j] = v.words[j];
    }
    return block;
  }
  DIECAST_DEVICE void across(Block (&two)[2]) const { two[0] = row(0), two[1] = row(1); }

  // Words of the lane's two columns, of elements of 16 bits.
  DIECAST_DEVICE void down(u32 (&rows)[16]) const {
    const u32* from = words + threadIdx.x % 32;
    DIECAST_UNROLL
    for (int i = 0; i < 16; ++i) rows[i] = from[i * kPitch];
  }

  // One of the two, of elements of any size.
  DIECAST_DEVICE Block column(int i) const {
    const int lane = threadIdx.x % 32;
    Block block;
    if constexpr (kBlockWords == 8) {
      const u32* from = words + lane;
      DIECAST_UNROLL
      for (int w = 0; w < 8; ++w)
        block.words[w] = __byte_perm(from[2 * w * kPitch], from[(2 * w + 1) * kPitch], i == 0 ? 0x5410 : 0x7632);
    } else {
      const u32* from = words + 2 * lane + i;
      DIECAST_UNROLL
      for (int w = 0; w < 16; ++w) block.words[w] = from[w * kPitch];
    }
    return block;
  }
  DIECAST_DEVICE Block block(bool of_row, int i) const { return of_row ? row(i) : column(i); }

  // From `x` on, where the matrix has the row or not, and so many of its columns.
  DIECAST_DEVICE static void load_one(const IN* x, bool has_row, int cols, Block& to) {
    if constexpr (Aligned) {
      to = {};
      if (has_row && cols > 0) to = load_whole(x);
    } else {
      to = load_elements_called(x, has_row ? cols : 0);
    }
  }
};

}  // namespace diecast
