// accesses_rows: the loads, stores, threads and barriers of quantizing rows that find their own amax,
// without the arithmetic: a thread block holds a row in registers, and nothing of it is written
// before all of it is read: every word carries the xor of the row.
/* diecast
shape    int   COLS                                      // elements of a row, 2 bytes each
tune     int   THREADS {32, 64, 128, 256, 512} = 256     // they share a row
tune     int   waves   {1, 8, 64, 128} = 64              // the most thread blocks a multiprocessor gets
size     rows
size     cols = COLS  divisible 16
arg      from      in   u8   [rows, 2 * cols]  align 16
arg      to_row    out  u32  [rows]
arg      to        out  u8   [rows, cols / 2]  align 8
arg      to_scales out  u8   [rows, cols / 16]
arg      rows
arg      cols
require  COLS > 0                                        // a row's share of a thread is known
launch   grid(min(rows, sm_count * waves)) block(THREADS) resident(min(16, 1024 / THREADS)) dependent
target   sm_80+
sample   COLS {512}  rows {0, 1, 7}
*/
#include <diecast/device/memory/vector.h>

constexpr int kHeld = (COLS + 16 * THREADS - 1) / (16 * THREADS), kBlocks = COLS / 16;

DIECAST_DEVICE u32 xor_of_row(u32 value) {
  value = __reduce_xor_sync(0xFFFFFFFFu, value);
  if constexpr (THREADS > 32) {
    __shared__ u32 of_warp[THREADS / 32];
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = __reduce_xor_sync(0xFFFFFFFFu, threadIdx.x % 32 < THREADS / 32 ? of_warp[threadIdx.x % 32] : 0);
    __syncthreads();
  }
  return value;
}

DIECAST_KERNEL {
DIECAST_NO_UNROLL
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    u32 held[kHeld][8], found = 0;
DIECAST_UNROLL
    for (int h = 0; h < kHeld; ++h) {
      const int block = threadIdx.x + h * THREADS;
      const u8* const at = from + row * (2 * COLS) + 32 * block;
      const bool inside = COLS % (16 * THREADS) == 0 || block < kBlocks;
      const Vector<16> first = inside ? load<16>(at) : Vector<16>{};
      const Vector<16> second = inside ? load<16>(at + 16) : Vector<16>{};
DIECAST_UNROLL
      for (int w = 0; w < 4; ++w) held[h][w] = first.words[w], held[h][4 + w] = second.words[w];
    }
DIECAST_UNROLL
    for (int h = 0; h < kHeld; ++h) {
DIECAST_UNROLL
      for (int w = 0; w < 8; ++w) found ^= held[h][w];
    }
    found = xor_of_row(found);
    if (threadIdx.x == 0) to_row[row] = found;
DIECAST_UNROLL
    for (int h = 0; h < kHeld; ++h) {
      const int block = threadIdx.x + h * THREADS;
      if (COLS % (16 * THREADS) != 0 && block >= kBlocks) continue;
      Vector<8> words;
DIECAST_UNROLL
      for (int w = 0; w < 2; ++w) {
        words.words[w] = found ^ held[h][w] ^ held[h][w + 2] ^ held[h][w + 4] ^ held[h][w + 6];
      }
      store_streaming<8>(to + row * (COLS / 2) + 8 * block, words);
      to_scales[row * kBlocks + block] = static_cast<u8>(words.words[0] ^ words.words[1]);
    }
  }
}
