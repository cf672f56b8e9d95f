// accesses_direct: the loads, stores and threads of an op without its arithmetic: a thread reads a
// piece and writes words that are the xor of what it read. What `diecast-bench gpu` holds ops against.
// WRITE=0: only read; the xor of all that a warp has read meets other warps' in one word, as a maximum.
/* diecast
option   int   READ        {4, 8, 16, 32, 64}            // bytes of a piece that are read
option   int   WRITE       {0, 4, 8, 16, 32}             // bytes of it that are written
option   int   READ_SCALE  {0, 1, 2, 4} = 0              // neighbouring pieces that read one byte of scales; 0: none
option   int   WRITE_SCALE {0, 1, 2, 4} = 0              // neighbouring pieces for which one byte is written; 0: none
option   enum  LAYOUT      {linear, s128x4} = linear     // of the bytes that are written so
option   bool  READ_WORD   = false                       // every thread reads one word, the same, too
tune     int   TOGETHER    {1, 2, 4} = 1                 // pieces of a thread that are read together
tune     bool  AHEAD       = false                       // and those of the next step before these are written
tune     int   THREADS     {128, 256} = 256
tune     int   waves       {1, 8, 64, 128, 256} = 64          // the most thread blocks a multiprocessor gets
size     pieces
size     row_pieces                                      // of one row
arg      from        in    u8  [pieces * READ]  align 16
arg      from_scales in    u8  [READ_SCALE == 0 ? 0 : pieces / READ_SCALE]
arg      to          out   u8  [WRITE == 0 ? 4 : pieces * WRITE]  align 16
arg      to_scales   out   u8  [WRITE_SCALE == 0 ? 0 : pieces / WRITE_SCALE]
arg      word        in    u32 [READ_WORD]
arg      pieces
arg      row_pieces
require  LAYOUT == linear || WRITE_SCALE > 0      // a layout is of scales that are written
launch   grid(min(ceil_div(pieces, THREADS * TOGETHER), sm_count * waves)) block(THREADS) dependent
target   sm_80+
exchange warp                                            // where a warp's word is one of all it has read
sample   pieces {0, 1, 1000}  row_pieces {8}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/scales/scale_layout.h>

// Bytes of a load and a store; pieces that share a scale.
constexpr int kLoad = READ < 16 ? READ : 16, kStore = WRITE == 0 ? 4 : WRITE < 16 ? WRITE : 16;
constexpr int kReaders = READ_SCALE == 0 ? 1 : READ_SCALE, kWriters = WRITE_SCALE == 0 ? 1 : WRITE_SCALE;

struct Piece {
  u32 words[READ / 4];
  u32 scale;

  // Two loads that share a sector go through the first-level cache, others past it.
  DIECAST_DEVICE void load_from(const u8* from, const u8* scales, u32 of_all, i64 piece) {
DIECAST_UNROLL
    for (int i = 0; i < READ; i += kLoad) {
      const u8* at = from + piece * READ + i;
      const Vector<kLoad> read = READ > 16 ? load<kLoad>(at) : load_streaming<kLoad>(at);
DIECAST_UNROLL
      for (int w = 0; w < kLoad / 4; ++w) words[i / 4 + w] = read.words[w];
    }
    scale = of_all;
    if (READ_SCALE > 0) scale ^= scales[piece / kReaders];
  }

  // Word i of `count`: all that was read stands in one of them.
  DIECAST_DEVICE u32 word(int i, int count) const {
    u32 out = scale ^ words[i % (READ / 4)];
DIECAST_UNROLL
    for (int w = i + count; w < READ / 4; w += count) out ^= words[w];
    return out;
  }

  DIECAST_DEVICE void store_to(u8* to, i64 piece) const {
DIECAST_UNROLL
    for (int i = 0; i < WRITE; i += kStore) {
      Vector<kStore> written;
DIECAST_UNROLL
      for (int w = 0; w < kStore / 4; ++w) written.words[w] = word(i / 4 + w, WRITE / 4);
      store_streaming<kStore>(to + piece * WRITE + i, written);
    }
  }
};

// Where the byte of a piece's scale lies.
DIECAST_DEVICE i64 place_of(i64 piece, i64 row_pieces) {
  const u32 unit = static_cast<u32>(piece) / kWriters;
  if constexpr (LAYOUT == LAYOUT_linear) return unit;
  const u32 row_units = static_cast<u32>(row_pieces) / kWriters;
  return ScaleLayout<LAYOUT>::offset(unit / row_units, unit % row_units, row_units);
}

DIECAST_KERNEL {
  const i64 step = i64{gridDim.x} * (THREADS * TOGETHER);
  const u32 of_all = READ_WORD ? *word : 0;
  u32 found = 0;
  const auto load_all = [&](Piece* held, i64 first) {
DIECAST_UNROLL
    for (int k = 0; k < TOGETHER; ++k) {
      const i64 piece = first + k * THREADS;
      if (piece < pieces) held[k].load_from(from, from_scales, of_all, piece);
    }
  };
  i64 at = i64{blockIdx.x} * (THREADS * TOGETHER) + threadIdx.x;
  Piece held[TOGETHER], coming[TOGETHER];
  if constexpr (AHEAD) load_all(coming, at);
DIECAST_NO_UNROLL
  for (; at < pieces; at += step) {
    if constexpr (AHEAD) {
DIECAST_UNROLL
      for (int k = 0; k < TOGETHER; ++k) held[k] = coming[k];
      load_all(coming, at + step);
    } else {
      load_all(held, at);
    }
DIECAST_UNROLL
    for (int k = 0; k < TOGETHER; ++k) {
      const i64 piece = at + k * THREADS;
      if (piece >= pieces) break;
      if constexpr (WRITE == 0) {
        found ^= held[k].word(0, 1);
      } else {
        held[k].store_to(to, piece);
      }
      if (WRITE_SCALE > 0 && piece % kWriters == 0) {
        to_scales[place_of(piece, row_pieces)] = static_cast<u8>(held[k].word(0, 1));
      }
    }
  }
  if constexpr (WRITE == 0) {
    found = __reduce_xor_sync(0xFFFFFFFFu, found);
    if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<u32*>(to), found);
  }
}
