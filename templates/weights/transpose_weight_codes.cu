// transpose_weight_codes: the packed E2M1 codes of many weights in 16x16 blocks, row after row, to those of
// the transposed matrices: what is quantized tile by tile is the same in both directions. A thread
// block turns 256x256 codes at once: whole lines of memory are read and written.
/* diecast
tune     int   waves   {1, 4, 8, 64} = 64                // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all weights: 256 rows by 256 columns each
arg      count
arg      units
launch   grid(min(units, sm_count * waves)) block(256) resident(4)
exchange block                                           // its threads meet at the turned codes
*/
#include <diecast/device/memory/async_copy.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/codes_8x8.h>

// Units are taken in bands of so many rows of them, column after column: thread blocks that run
// together read and write lines of memory that lie together.
constexpr u32 kBand = 4;

constexpr int kPieces = kTransposeUnit / 32;  // of 16 bytes, a row of a unit: a warp's each
constexpr int kThreads = 32 * kPieces;

// Where a piece of a row lies in shared memory: those of one column, eight rows apart, in different banks.
DIECAST_DEVICE int place(int row, int piece) { return row * kPieces + (piece ^ row / 8 % kPieces); }

DIECAST_DEVICE int at_most_unit(i64 count) { return static_cast<int>(min(count, kTransposeUnit)); }

// One unit: where its codes are, where they go, and how much of both there is.
struct Unit {
  const u8* from;
  u8* to;
  u32 from_row, to_row;  // bytes from one row to the next
  int rows, cols;        // of codes, from the unit's first on, at most a whole unit's
  int bytes, to_codes;   // of a row and of a turned row with their padding, likewise

  DIECAST_DEVICE Unit(const Weight& w, u32 within) {
    const u32 in_row = static_cast<u32>(ceil_div(w.cols, kTransposeUnit));
    const u32 in_column = static_cast<u32>(ceil_div(w.rows, kTransposeUnit));
    const u32 band = within / (kBand * in_row), in_band = within - band * kBand * in_row;
    const u32 height = min(kBand, in_column - band * kBand);
    const i64 row = i64{band * kBand + in_band % height} * kTransposeUnit;
    const i64 col = i64{in_band / height} * kTransposeUnit;
    const i64 row_bytes = w.row_codes / 2;
    from_row = static_cast<u32>(row_bytes), to_row = static_cast<u32>(w.column_codes / 2);
    from = reinterpret_cast<const u8*>(w.rowwise.data) + row * row_bytes + col / 2;
    to = reinterpret_cast<u8*>(w.columnwise.data) + col * to_row + row / 2;
    rows = at_most_unit(w.rows - row), cols = at_most_unit(w.cols - col);
    bytes = at_most_unit(row_bytes - col / 2), to_codes = at_most_unit(w.column_codes - row);
  }
};

// Bytes: 16 where every row is at a multiple of them, else 4, which is seldom: a loop, for the sake of the compiler's time.
template <int Bytes>
DIECAST_DEVICE void read(const Unit& unit, Vector<16>* pieces) {
  const int first = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
  const u8* from = unit.from + i64{first} * unit.from_row + 16 * piece;
  DIECAST_UNROLL_TIMES(Bytes == 16 ? 8 : 1)
  for (int i = 0; i < kTransposeUnit; i += kThreads / kPieces) {
    u8* to = reinterpret_cast<u8*>(pieces + place(first + i, piece));
    DIECAST_UNROLL
    for (int b = 0; b < 16; b += Bytes) {
      copy_async<Bytes>(to + b, from + b, first + i < unit.rows && 16 * piece + b < unit.bytes);
    }
    from += u64{unit.from_row} * (kThreads / kPieces);
  }
  wait_for_copies();
}

// A lane turns a piece of eight rows. Lanes have neighbouring rows, so a turned row of a warp's is a line.
DIECAST_DEVICE void turn(const Unit& unit, const Vector<16>* pieces) {
  const int lane = threadIdx.x % 32, piece = threadIdx.x / 32;
  Vector<16> of[8];
  DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) of[i] = pieces[place(8 * lane + i, piece)];
  u8* to = unit.to + i64{32 * piece} * unit.to_row + 4 * lane;
  const int count = 8 * lane < unit.to_codes ? unit.cols - 32 * piece : 0;
  DIECAST_UNROLL
  for (int j = 0; j < 4; ++j) {
    u32 words[8];
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) words[i] = of[i].words[j];
    transpose_8x8(words);
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      if (8 * j + i < count) *reinterpret_cast<u32*>(to) = words[i];
      to += unit.to_row;
    }
  }
}

DIECAST_KERNEL {
  __shared__ Vector<16> pieces[kTransposeUnit * kPieces];
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  DIECAST_NO_UNROLL
  for (u32 index = blockIdx.x; index < units; index += gridDim.x) {
    const Weight& w = all[weight_of_unit(all, static_cast<u32>(count), kTransposeUnits, index)];
    const Unit unit(w, index - w.unit_begin[kTransposeUnits]);
    if ((reinterpret_cast<u64>(unit.from) | unit.from_row) % 16 == 0) {
      read<16>(unit, pieces);
    } else {
      read<4>(unit, pieces);
    }
    __syncthreads();
    turn(unit, pieces);
    __syncthreads();
  }
}
