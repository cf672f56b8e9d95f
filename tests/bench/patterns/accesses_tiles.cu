// accesses_tiles: what quantizing rows and columns at once reads and writes, without the arithmetic: a thread block
// reads a tile, piece by piece, into registers or by bulk copies through STAGES pieces of shared memory; writes codes of
// rows as pieces arrive, and, once all of it is read, codes of columns and both sides' scales. Every 16 bytes of codes
// are the xor of 64 that the thread has read; a tile's columns' codes are its rows' codes in another order of lines.
/* diecast
tune     int   TILE_ROWS {128, 256, 512} = 128
tune     int   TILE_COLS {128, 256, 512} = 256
tune     int   BAND      {1, 4, 16} = 1                  // tiles one below the other that are taken before those to their right
tune     int   TOGETHER  {1, 2} = 1                      // pieces of a tile that are read together, into registers
tune     bool  AHEAD     = false                         // and the next ones before these are written
tune     int   STAGES    {0, 2, 4} = 0                   // pieces on their way into shared memory; 0: into registers
tune     int   THREADS   {256, 512} = 256
tune     int   RESIDENT  {0, 1, 2} = 0                   // thread blocks that a multiprocessor must have room for; 0: any
tune     int   waves     {1, 2, 256} = 256               // the most thread blocks a multiprocessor gets
size     rows  divisible TILE_ROWS
size     cols  divisible TILE_COLS
arg      from         in    u8  [rows, 2 * cols]   align 16
arg      to           out   u8  [rows, cols / 2]   align 16
arg      to_scales    out   u8  [rows, cols / 16]  align 8
arg      to_columns   out   u8  [cols, rows / 2]   align 16
arg      to_column_scales  out  u8  [cols, rows / 16]  align 8
arg      rows
arg      cols
require  TILE_ROWS * TILE_COLS % (32 * THREADS * TOGETHER) == 0  // whole pieces
require  STAGES == 0 || (TOGETHER == 1 && !AHEAD)        // those are of registers
require  STAGES == 0 || cc >= 90                         // bulk copies
launch   grid(min(rows / TILE_ROWS * (cols / TILE_COLS), sm_count * waves)) block(THREADS) resident(RESIDENT) shared(STAGES * THREADS * 64)
target   sm_80+
sample   rows {0, 512, 1024}  cols {512, 1024}
*/
#include <diecast/device/memory/vector.h>

// A piece is four vectors of 16 bytes a thread, neighbouring threads' neighbours, whole rows of the tile.
constexpr int kPieceBytes = 64 * THREADS, kPieceRows = kPieceBytes / (2 * TILE_COLS);
constexpr int kPieces = TILE_ROWS / kPieceRows;

using V = Vector<16>;

constexpr int min_of(int a, int b) { return a < b ? a : b; }

DIECAST_DEVICE V xor_of(const V* four) {
  V out;
DIECAST_UNROLL
  for (int w = 0; w < 4; ++w) out.words[w] = four[0].words[w] ^ four[1].words[w] ^ four[2].words[w] ^ four[3].words[w];
  return out;
}

// What the thread has of `Lines` lines, `Line` bytes each: neighbouring threads neighbouring vectors. `at`: where the
// first line begins.
template <int Lines, int Line, int Bytes, class Of>
DIECAST_DEVICE void store_lines(u8* at, i64 pitch, const Of& of) {
  constexpr int kInLine = Line / Bytes, kTogether = THREADS / kInLine, kEach = Lines * kInLine / THREADS;
  u8* to = at + threadIdx.x / kInLine * pitch + threadIdx.x % kInLine * Bytes;
  if (kEach == 0 && threadIdx.x >= Lines * kInLine) return;
DIECAST_UNROLL
  for (int i = 0; i < (kEach == 0 ? 1 : kEach); ++i, to += kTogether * pitch) {
    Vector<Bytes> v;
DIECAST_UNROLL
    for (int w = 0; w < Bytes / 4; ++w) v.words[w] = of(i).words[w];
    if constexpr (Bytes < 16) {
      *reinterpret_cast<Vector<Bytes>*>(to) = v;
    } else {
      store_streaming<Bytes>(to, v);
    }
  }
}

// Pieces of all tiles of a thread block, in the order they are read in.
struct Place {
  i64 row, col;

  DIECAST_DEVICE Place(i64 tile, i64 rows, i64 cols) {
    const u32 row_tiles = static_cast<u32>(cols / TILE_COLS), n = static_cast<u32>(tile);
    const u32 band = n / (BAND * row_tiles), in_band = n % (BAND * row_tiles);
    const u32 high = min(u32{BAND}, static_cast<u32>(rows / TILE_ROWS) - band * BAND);
    row = i64{band * BAND + in_band % high} * TILE_ROWS;
    col = i64{in_band / high} * TILE_COLS;
  }
};

// Pieces that come into shared memory.
struct Ring {
  u8* bytes;
  u64* barriers;

  DIECAST_DEVICE u32 barrier(int stage) const { return shared_address(barriers + stage); }
  // By the first warp: a row a lane.
  DIECAST_DEVICE void fetch(int stage, const u8* piece, i64 pitch) const {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier(stage)), "r"(kPieceBytes) : "memory");
    }
    __syncwarp();
DIECAST_NO_UNROLL
    for (int row = threadIdx.x; row < kPieceRows; row += 32) {
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                   :: "r"(shared_address(bytes + stage * kPieceBytes + row * (2 * TILE_COLS))), "l"(piece + row * pitch),
                      "r"(2 * TILE_COLS), "r"(barrier(stage)) : "memory");
    }
  }
  DIECAST_DEVICE void wait(int stage, u32 phase) const {
    asm volatile("{\n .reg .pred done;\n"
                 "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 " @!done bra again;\n}"
                 :: "r"(barrier(stage)), "r"(phase) : "memory");
  }
};

DIECAST_KERNEL {
  __shared__ alignas(8) u64 barriers[STAGES + 1];
  const Ring ring{dynamic_shared<u8>(), barriers};
  const i64 tiles = rows / TILE_ROWS * (cols / TILE_COLS), pitch = 2 * cols;
  const auto piece_of = [&](i64 tile, int piece) {
    const Place at(tile, rows, cols);
    return from + (at.row + piece * kPieceRows) * pitch + 2 * at.col;
  };
  i64 next = blockIdx.x;  // the tile of the piece that is fetched next
  int left = kPieces;
  const u8* at_next = piece_of(next, 0);
  const auto fetch = [&](int stage) {
    if (threadIdx.x >= 32 || next >= tiles) return;
    ring.fetch(stage, at_next, pitch);
    at_next += kPieceRows * pitch;
    if (--left > 0) return;
    left = kPieces, next += gridDim.x;
    if (next < tiles) at_next = piece_of(next, 0);
  };
  if constexpr (STAGES > 0) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < STAGES; ++s) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(ring.barrier(s)) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int s = 0; s < STAGES; ++s) fetch(s);
  }
  int stage = 0;
  u32 phase = 0;
  const auto load_pieces = [&](V (&to)[4 * TOGETHER], i64 tile, int piece) {
    if (tile >= tiles) return;
    const u8* const at = piece_of(tile, piece);
    constexpr int kInRow = TILE_COLS / 8;
    const u8* own = at + threadIdx.x / kInRow * pitch + threadIdx.x % kInRow * 16;
DIECAST_UNROLL
    for (int i = 0; i < 4 * TOGETHER; ++i, own += THREADS / kInRow * pitch) to[i] = load_streaming<16>(own);
  };
  V held[4 * TOGETHER], coming[4 * TOGETHER];
  if constexpr (AHEAD) load_pieces(coming, blockIdx.x, 0);
DIECAST_NO_UNROLL
  for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const Place at(tile, rows, cols);
    V codes[kPieces];
    u8* const codes_to = to + at.row * (cols / 2) + at.col / 2;
DIECAST_UNROLL
    for (int piece = 0; piece < kPieces; piece += TOGETHER) {
      if constexpr (STAGES > 0) {
        ring.wait(stage, phase);
DIECAST_UNROLL
        for (int i = 0; i < 4; ++i) held[i] = reinterpret_cast<const V*>(ring.bytes + stage * kPieceBytes)[i * THREADS + threadIdx.x];
        __syncthreads();
        fetch(stage);
        if (++stage == STAGES) stage = 0, phase ^= 1;
      } else if constexpr (AHEAD) {
DIECAST_UNROLL
        for (int i = 0; i < 4 * TOGETHER; ++i) held[i] = coming[i];
        const bool last = piece + TOGETHER == kPieces;
        load_pieces(coming, last ? tile + gridDim.x : tile, last ? 0 : piece + TOGETHER);
      } else {
        load_pieces(held, tile, piece);
      }
DIECAST_UNROLL
      for (int k = 0; k < TOGETHER; ++k) {
        codes[piece + k] = xor_of(held + 4 * k);
        const auto own = [&](int) { return codes[piece + k]; };
        store_lines<kPieceRows, TILE_COLS / 2, 16>(codes_to + (piece + k) * kPieceRows * (cols / 2), cols / 2, own);
      }
    }
    __syncthreads();  // a block of a column is of all warps' rows
    const auto own = [&](int i) { return codes[i % kPieces]; };
    store_lines<TILE_COLS, TILE_ROWS / 2, 16>(to_columns + at.col * (rows / 2) + at.row / 2, rows / 2, own);
    constexpr int kAcross = TILE_COLS / 16, kDown = TILE_ROWS / 16;
    store_lines<TILE_ROWS, kAcross, min_of(kAcross, 16)>(to_scales + at.row * (cols / 16) + at.col / 16, cols / 16, own);
    store_lines<TILE_COLS, kDown, min_of(kDown, 16)>(to_column_scales + at.col * (rows / 16) + at.row / 16, rows / 16, own);
  }
}
