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
#include <diecast/device/async_copy.h>
#include <diecast/device/codes_8x8.h>
#include <diecast/device/vector.h>
#include <diecast/device/weights.h>

// Units are taken in bands of so many rows of them, column after column: blocks of threads that run
// together read and write lines of memory that lie together.
constexpr u32 kBand = 4;

constexpr int kPieces = kTransposeUnit / 32;  // of 16 bytes, a row of a unit

// Where a piece of a row lies in shared memory: those of one column, eight rows apart, in different banks.
DIECAST_DEVICE int place(int row, int piece) { return row * kPieces + (piece ^ row / 8 % kPieces); }

// One unit: where its codes are, where they go, and how much of both there is.
struct Unit {
  const u8* from;
  u8* to;
  i64 from_row, to_row;  // bytes from one row to the next
  i64 rows, cols;        // of codes, from the unit's first on
  i64 to_codes;          // of a row of the result with its padding, from the unit's first on
  int bytes;             // of a row, from the unit's first on, at most a whole unit's

  DIECAST_DEVICE Unit(const Weight& w, u32 within) {
    const u32 in_row = static_cast<u32>(ceil_div(w.cols, kTransposeUnit));
    const u32 in_column = static_cast<u32>(ceil_div(w.rows, kTransposeUnit));
    const u32 band = within / (kBand * in_row), in_band = within - band * kBand * in_row;
    const u32 height = min(kBand, in_column - band * kBand);
    const i64 row = i64{band * kBand + in_band % height} * kTransposeUnit;
    const i64 col = i64{in_band / height} * kTransposeUnit;
    from_row = w.row_codes / 2, to_row = w.column_codes / 2;
    from = reinterpret_cast<const u8*>(w.rowwise.data) + row * from_row + col / 2;
    to = reinterpret_cast<u8*>(w.columnwise.data) + col * to_row + row / 2;
    rows = w.rows - row, cols = w.cols - col, to_codes = w.column_codes - row;
    bytes = static_cast<int>(min(i64{kTransposeUnit / 2}, from_row - col / 2));
  }
};

template <int Bytes>
DIECAST_DEVICE void read(const Unit& unit, Vector<16>* pieces) {
DIECAST_UNROLL
  for (int i = 0; i < kTransposeUnit * kPieces / THREADS; ++i) {
    const int row = (threadIdx.x + i * THREADS) / kPieces, piece = threadIdx.x % kPieces;
    const int valid = row < unit.rows ? min(max(unit.bytes - 16 * piece, 0), 16) : 0;
    const u8* from = valid > 0 ? unit.from + row * unit.from_row + 16 * piece : unit.from;
    copy_async<Bytes>(pieces + place(row, piece), from, valid);
  }
  wait_for_copies();
}

DIECAST_KERNEL {
  __shared__ Vector<16> pieces[kTransposeUnit * kPieces];
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const int lane = threadIdx.x % 32;
DIECAST_NO_UNROLL
  for (u32 index = blockIdx.x; index < units; index += gridDim.x) {
    const Weight& w = all[weight_of_unit(all, static_cast<u32>(count), kTransposeUnits, index)];
    const Unit unit(w, index - w.unit_begin[kTransposeUnits]);
    if ((w.rowwise.data | static_cast<u64>(unit.from_row)) % 16 == 0) {
      read<16>(unit, pieces);
    } else {
      read<4>(unit, pieces);
    }
    const bool has_rows = 8 * lane < unit.to_codes;
    __syncthreads();
    // A lane turns a piece of eight rows; a warp's lanes have neighbouring rows, a line of the result.
DIECAST_NO_UNROLL
    for (int piece = threadIdx.x / 32; piece < kPieces; piece += THREADS / 32) {
      Vector<16> of[8];
DIECAST_UNROLL
      for (int i = 0; i < 8; ++i) of[i] = pieces[place(8 * lane + i, piece)];
DIECAST_UNROLL
      for (int j = 0; j < 4; ++j) {
        u32 words[8];
DIECAST_UNROLL
        for (int i = 0; i < 8; ++i) words[i] = of[i].words[j];
        transpose_8x8(words);
        const int k = 32 * piece + 8 * j;
DIECAST_UNROLL
        for (int i = 0; i < 8; ++i) {
          if (has_rows && k + i < unit.cols) {
            store_streaming<4>(unit.to + (k + i) * unit.to_row + 4 * lane, {{words[i]}});
          }
        }
      }
    }
    __syncthreads();
  }
}
