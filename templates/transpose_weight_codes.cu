// transpose_weight_codes: the packed E2M1 codes of many weights in 16x16 blocks, row after row, to those of
// the transposed matrices: what is quantized tile by tile is the same in both directions. A block of
// threads turns 256x256 codes at once: whole lines of memory are read and written.
/* diecast
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 4, 8, 64} = 64               // the most blocks of threads a multiprocessor gets
size     count                                           // weights
size     units                                           // of all weights: 256 rows by 256 columns each
arg      weights in    u8   [count, 208]  align 16       // struct Weight of device/weights.h
arg      count
arg      units
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(units, sm_count * waves)) block(THREADS) resident(1024 / THREADS)
target   host, sm_80+
exchange block                                           // its threads meet at the turned codes
sample   count {0, 1, 5, 40}
*/
#include <diecast/device/codes_8x8.h>
#include <diecast/device/vector.h>
#include <diecast/device/weights.h>

// Units are taken in bands of so many rows of them, column after column: blocks of threads that run
// together read and write lines of memory that lie together.
constexpr u32 kBand = 4;

constexpr int kWords = kTransposeUnit / 8;  // of eight codes, a row of a unit

// Where word `group` of turned row k lies: rows of eight lanes start in different banks.
DIECAST_DEVICE int place(int k, int group) { return k * kWords + k / 8 + group; }

DIECAST_KERNEL {
  __shared__ u32 turned[kTransposeUnit * kWords + kWords];
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const int lane = threadIdx.x % 32;
DIECAST_NO_UNROLL
  for (u32 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const Weight& w = all[weight_of_unit(all, static_cast<u32>(count), kTransposeUnits, unit)];
    const u32 within = unit - w.unit_begin[kTransposeUnits];
    const u32 in_row = static_cast<u32>(ceil_div(w.cols, kTransposeUnit));
    const u32 in_column = static_cast<u32>(ceil_div(w.rows, kTransposeUnit));
    const u32 band = within / (kBand * in_row), in_band = within - band * kBand * in_row;
    const u32 height = min(kBand, in_column - band * kBand);
    const i64 row = i64{band * kBand + in_band % height} * kTransposeUnit;
    const i64 col = i64{in_band / height} * kTransposeUnit;
    const u8* from = reinterpret_cast<const u8*>(w.rowwise.data) + (row * w.row_codes + col) / 2 + 4 * lane;
    const bool has_cols = col + 8 * lane < w.row_codes;
DIECAST_NO_UNROLL
    for (int group = threadIdx.x / 32; group < kWords; group += THREADS / 32) {
      u32 words[8];
DIECAST_UNROLL
      for (int i = 0; i < 8; ++i) {
        const i64 r = 8 * group + i;
        words[i] = has_cols && row + r < w.rows
                       ? *reinterpret_cast<const u32*>(from + r * (w.row_codes / 2)) : 0;
      }
      transpose_8x8(words);
DIECAST_UNROLL
      for (int i = 0; i < 8; ++i) turned[place(8 * lane + i, group)] = words[i];
    }
    __syncthreads();
    u8* to = reinterpret_cast<u8*>(w.columnwise.data) + (col * w.column_codes + row) / 2 + 4 * lane;
    const bool has_rows = row + 8 * lane < w.column_codes;
DIECAST_NO_UNROLL
    for (int k = threadIdx.x / 32; k < kTransposeUnit && col + k < w.cols; k += THREADS / 32) {
      if (has_rows) store_streaming<4>(to + k * (w.column_codes / 2), {{turned[place(k, lane)]}});
    }
    __syncthreads();
  }
}
