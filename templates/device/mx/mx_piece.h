// A warp's piece of a matrix: 32 rows and 128 bytes of each, which a lane takes 16 bytes at a time, of eight
// rows one after another. They wait in shared memory, a lane's where it alone reads them: what it would
// hold in registers, but read while others work, and found by a number.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/memory/async_copy.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/mx/mx_block.h>
#include <diecast/device/numbers/e2m1_codes.h>

namespace diecast {

// `Whole`: a row is whole blocks of 32 and starts at a multiple of 16 bytes.
template <class MX, class IN, bool Whole, int Across>
struct MxPiece {
  static constexpr int kAcross = Across, kDown = 32 / kAcross;                    // lanes side by side, and one below the other
  static constexpr int kRows = 32 / kDown;                                        // of a lane, which follow each other
  static constexpr int kElements = 128 / bits<IN>(), kPerWord = 32 / bits<IN>();  // a lane's of a row
  static constexpr int kCols = kAcross * kElements, kBlockLanes = 32 / kElements;
  static constexpr int kBytes = 512 * kRows;
  // Lanes one below the other share their columns' scales: each makes those of so many words, of so many columns.
  static constexpr int kOwnWords = 4 / kDown, kOwn = kOwnWords * kPerWord;

  SharedPlace own;  // the lane's first 16 bytes; its next row's are 512 further

  DIECAST_DEVICE static SharedPlace place(void* warps) {
    return held(shared_place(warps) + threadIdx.x / 32 * kBytes + threadIdx.x % 32 * 16);
  }
  DIECAST_DEVICE static u32 across() { return threadIdx.x % kAcross; }
  DIECAST_DEVICE static u32 down() { return threadIdx.x % 32 / kAcross; }

  // How many of the lane's rows come before one that is so far from its first.
  DIECAST_DEVICE static int rows_until(i64 end) { return static_cast<int>(max(min(end, i64{kRows}), i64{0})); }

  // Reads the lane's part, which begins at `x`; the matrix has so many rows and columns from there on.
  DIECAST_DEVICE void read(const IN* x, i64 stride, int rows, i64 cols) const {
    DIECAST_UNROLL
    for (int i = 0; i < (Whole ? kRows : 0); ++i, x += stride) copy_async<16>(own + 512 * i, x, i < rows && cols > 0);
    DIECAST_NO_UNROLL
    for (int i = 0; i < (Whole ? 0 : kRows); ++i, x += stride) {
      const int count = i < rows ? static_cast<int>(max(min(cols, i64{kElements}), i64{0})) : 0;
      if (count == kElements && is_aligned<16>(x)) {
        copy_async<16>(own + 512 * i, x, true);
      } else {
        Vector<16> v;
        load_elements<IN, 4>(x, count, v.words);
        store_shared(own + 512 * i, v);
      }
    }
    wait_for_copies();
  }

  DIECAST_DEVICE Vector<16> row(int i) const { return load_shared<16>(own + 512 * i); }

  // The larger magnitudes, of each element of a word.
  DIECAST_DEVICE static u32 larger(u32 a, u32 b) { return larger_elements<IN, MX::kNanScale>(a, b); }
  // Of lanes that far from each other, powers of two from First to Last; all lanes.
  template <u32 First, u32 Last>
  DIECAST_DEVICE static u32 largest_of_lanes(u32 word) {
    DIECAST_UNROLL
    for (u32 distance = First; distance <= Last; distance *= 2) {
      word = larger(word, __shfl_xor_sync(0xFFFFFFFFu, word, distance));
    }
    return word;
  }
  // A word's element.
  DIECAST_DEVICE static u32 magnitude(u32 word, int k) { return MX::magnitude(from_bits<IN>(word >> (k * 16))); }
  DIECAST_DEVICE static u32 magnitude(u32 word) { return max(magnitude(word, 0), magnitude(word, kPerWord - 1)); }

  // Of all elements of the lane's block of 32 in a row.
  DIECAST_DEVICE static u32 largest_of_block(const Vector<16>& v) {
    const u32 word = larger(larger(v.words[0], v.words[1]), larger(v.words[2], v.words[3]));
    return magnitude(largest_of_lanes<1, kBlockLanes / 2>(word));
  }

  // A lane's elements of a row, each times its factor, as codes: those of the row's `count` last ones.
  static constexpr int kCodeBytes = kElements / (MX::kFourBit ? 2 : 1);
  template <class Factor>
  DIECAST_DEVICE static void store(u8* to, const Vector<16>& v, i64 count, const Factor& factor_of) {
    f32 y[kElements];
    DIECAST_UNROLL
    for (int k = 0; k < kElements; ++k) y[k] = __fmul_rn(element_of<IN>(v.words, k), factor_of(k));
    if constexpr (kCodeBytes == 2) {
      *reinterpret_cast<u16*>(to) = static_cast<u16>(e2m1_codes(y));
    } else if constexpr (MX::kFourBit) {
      store_streaming<4>(to, {{e2m1_codes(y)}});
    } else {
      Vector<kCodeBytes> codes;
      DIECAST_UNROLL
      for (int w = 0; w < kCodeBytes / 4; ++w) codes.words[w] = MX::four_bytes(y + 4 * w);
      if (Whole || (count >= kCodeBytes && is_aligned<kCodeBytes>(to))) {
        store_streaming<kCodeBytes>(to, codes);
      } else {
        DIECAST_UNROLL
        for (int k = 0; k < kCodeBytes; ++k) {
          if (k < count) to[k] = static_cast<u8>(codes.words[k / 4] >> (k % 4 * 8));
        }
      }
    }
  }

  // What the lane has that makes the scale of the `k`-th of these columns.
  DIECAST_DEVICE static f32 of_column(f32 own, int k) { return __shfl_sync(0xFFFFFFFFu, own, k / kOwn * kAcross + across()); }

  // E2M1 codes of the first `count` of the lane's columns to lines `pitch` bytes apart, each times its factor.
  DIECAST_DEVICE void store_columns(u8* to, i64 pitch, i64 count, const f32 (&factors)[kOwn]) const {
    static_assert(kOwnWords == 1, "factors of a word");
    DIECAST_NO_UNROLL
    for (int j = 0; j < 4; ++j) {
      u32 words[kRows];
      DIECAST_UNROLL
      for (int i = 0; i < kRows; ++i) words[i] = load_shared<4>(own + 512 * i + 4 * j).words[0];
      DIECAST_UNROLL
      for (int k = 0; k < kPerWord; ++k, to += pitch) {
        const f32 factor = of_column(factors[k], j * kPerWord + k);
        f32 y[kRows];
        DIECAST_UNROLL
        for (int i = 0; i < kRows; ++i) y[i] = __fmul_rn(element_of<IN>(words + i, k), factor);
        if (j * kPerWord + k < count) store_streaming<4>(to, {{e2m1_codes(y)}});
      }
    }
  }
};

}  // namespace diecast
