// A stripe of a tile in shared memory: 16 rows and 256 columns of elements of 16 bits, zeros beyond the matrix's
// edges. A warp copies it row by row and takes it apart into blocks of 16 neighbours along either side, two for a
// lane at a time. What becomes of the columns' blocks lies in their place until lines of memory are written.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16_data.h>
#include <diecast/device/memory/async_copy.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/memory/vector.h>

namespace diecast {

// 128 bytes of a row that are a line of memory are a line of shared memory: then a copy is one request a line to
// the second-level cache. Chunks of 16 bytes change places in it, so that what eight lanes read or write together
// lies in different banks.
template <class IN>
struct Stripe16x256 {
  using Block = Block16<IN>;
  static constexpr u32 kPitch = 2 * 256, kBytes = 16 * kPitch;
  static constexpr int kParts = 4;  // of 64 columns, two a lane

  SharedPlace bytes;  // kBytes of them, at a multiple of 128
  u32 index;          // of the stripe in its tile

  DIECAST_DEVICE u32 chunk(u32 row, u32 at) const {
    const u32 place = at ^ at / 8 % 2 ^ row % 4 * 2 ^ index / 2 % 2 ^ index / 4 % 2 * 4;
    return row * kPitch + 16 * place;
  }

  // Begins to read a stripe. From the lane's first element, at `x`, 8 * lane columns from the left, on the matrix
  // has `rows` rows, `stride` bytes from one to the next; `there`: and that column. All lanes.
  DIECAST_DEVICE void begin(const void* x, i64 stride, int rows, bool there) const {
    const u8* from = static_cast<const u8*>(x);
    SharedPlace to = held(bytes + chunk(0, threadIdx.x % 32));
    rows = there ? rows : 0;
    DIECAST_NO_UNROLL
    for (int row = 0; row < 16; row += 4, to += 4 * kPitch) {
#if DIECAST_HOST
      for (int i = 0; i < 4; ++i, from += stride) copy_async<16>(turned(to, 32 * i) + i * kPitch, from, row + i < rows);
#else
#define DIECAST_COPY(to, from, nth) " setp.le.s32 p, %3, " nth ";\n cp.async.cg.shared.global [" to "], [" from "], 16, p;\n"
#define DIECAST_COPY_NEXT(after, nth, bits, offset) \
  " add.s64 a, " after ", %2;\n xor.b32 b, %1, " bits ";\n" DIECAST_COPY("b + " offset, "a", nth)
      static_assert(kPitch == 512);
      asm volatile("{\n .reg .pred p;\n .reg .b32 b;\n .reg .b64 a;\n" DIECAST_COPY("%1", "%0", "0")
                       DIECAST_COPY_NEXT("%0", "1", "32", "512") DIECAST_COPY_NEXT("a", "2", "64", "1024")
                           DIECAST_COPY_NEXT("a", "3", "96", "1536") " add.s64 %0, a, %2;\n}"
                   : "+l"(from)
                   : "r"(to), "l"(stride), "r"(rows - row)
                   : "memory");
#undef DIECAST_COPY_NEXT
#undef DIECAST_COPY
#endif
    }
  }
  // All lanes, before they read it.
  DIECAST_DEVICE void wait() const {
    wait_for_copies();
    __syncwarp();
  }

  // Where the first of the lane's blocks of rows lies: block lane % 16 of row lane / 16.
  DIECAST_DEVICE SharedPlace across() const {
    const u32 lane = threadIdx.x % 32;
    return held(bytes + chunk(lane / 16, 2 * (lane % 16)));
  }
  // It; goes two rows down, to the next.
  DIECAST_DEVICE static Block read_across(SharedPlace& at) {
    Block block;
    DIECAST_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      const Vector<16> v = load_shared<16>(turned(at, i * 16));
      DIECAST_UNROLL
      for (int j = 0; j < 4; ++j) block.words[i * 4 + j] = v.words[j];
    }
    at = turned(at, 64) + 2 * kPitch;
    return block;
  }

  // Where columns 2 * lane and the next lie.
  DIECAST_DEVICE SharedPlace down() const {
    const u32 lane = threadIdx.x % 32;
    return held(bytes + chunk(0, lane / 4) + lane % 4 * 4);
  }
  // Words of their rows; goes to the next part. All lanes, before any of them writes codes of that part.
  DIECAST_DEVICE static void read_down(SharedPlace& at, u32 (&rows)[16]) {
#if DIECAST_HOST
    for (u32 i = 0; i < 16; ++i) rows[i] = load_shared<4>(turned(at, 32 * (i % 4)) + i * kPitch).words[0];
#else
#define DIECAST_LOAD(nth, place) " ld.shared.u32 %" nth ", [" place "];\n"
#define DIECAST_LOAD_FOUR(n0, n1, n2, n3, from) \
  DIECAST_LOAD(n0, "%16 + " from)               \
  DIECAST_LOAD(n1, "a + " from " + 512")        \
  DIECAST_LOAD(n2, "b + " from " + 1024")       \
  DIECAST_LOAD(n3, "c + " from " + 1536")
    static_assert(kPitch == 512);
    asm volatile("{\n .reg .b32 a, b, c;\n xor.b32 a, %16, 32;\n xor.b32 b, %16, 64;\n xor.b32 c, %16, 96;\n" DIECAST_LOAD_FOUR(
                     "0", "1", "2", "3", "0") DIECAST_LOAD_FOUR("4", "5", "6", "7", "2048")
                     DIECAST_LOAD_FOUR("8", "9", "10", "11", "4096") DIECAST_LOAD_FOUR("12", "13", "14", "15", "6144") "}"
                 : "=&r"(rows[0]), "=&r"(rows[1]), "=&r"(rows[2]), "=&r"(rows[3]), "=&r"(rows[4]), "=&r"(rows[5]), "=&r"(rows[6]),
                   "=&r"(rows[7]), "=&r"(rows[8]), "=&r"(rows[9]), "=&r"(rows[10]), "=&r"(rows[11]), "=&r"(rows[12]),
                   "=&r"(rows[13]), "=&r"(rows[14]), "=&r"(rows[15])
                 : "r"(at)
                 : "memory");
#undef DIECAST_LOAD_FOUR
#undef DIECAST_LOAD
#endif
    __syncwarp();
    at = to_right(at);
  }
  // Where their codes go, for codes() to find; codes of both, which goes to the next part.
  DIECAST_DEVICE SharedPlace codes_down() const {
    const u32 lane = threadIdx.x % 32;
    return held(bytes + chunk(lane % 4, lane / 4));
  }
  DIECAST_DEVICE static void write_down(SharedPlace& to, const Vector<16>& codes) {
    store_shared(to, codes);
    to = to_right(to);
  }

  // Where the codes of a column of the first part lie, and 64 columns to the right of any.
  DIECAST_DEVICE SharedPlace codes(u32 col) const { return bytes + chunk(col / 2 % 4, col / 8) + col % 2 * 8; }
  DIECAST_DEVICE static SharedPlace to_right(SharedPlace at) { return turned(at, 16) + 128; }
};

}  // namespace diecast
