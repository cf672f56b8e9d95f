// accesses_once: the loads, stores and threads of quantizing a matrix whose blocks of 16 neighbouring
// threads take together, each once, without the arithmetic: each loads its share of the block and a word
// that is the same for all, and writes as many codes of the xor of that.
/* diecast
tune     int   LANES   {1, 2} = 2                        // neighbours that take a block together
tune     int   THREADS {128, 256, 384, 512, 640, 768, 896, 1024} = 128
tune     int   BLOCKS  {1, 2} = 1                        // blocks that a thread takes
size     pieces                                          // blocks of 16 elements of 2 bytes
arg      from      in   u8   [pieces * 32]  align 16
arg      to        out  u8   [pieces * 8]  align 8
arg      to_scales out  u8   [pieces]
arg      word      in   u32  [1]
arg      pieces
launch   grid(1, ceil_div(pieces * LANES, THREADS * BLOCKS)) block(THREADS) dependent(late)
require  BLOCKS == 1 || LANES == 1                       // neighbours share a block, or a thread has several
target   sm_80+
exchange none
sample   pieces {0, 1, 1000}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/threads/dependent.h>

DIECAST_KERNEL {
  constexpr int kBytes = 32 / LANES, kPiece = kBytes < 16 ? kBytes : 16;
  if constexpr (LANES == 1) launch_before_ended();
  const u32 first = blockIdx.y * (THREADS * BLOCKS) + threadIdx.x, parts = static_cast<u32>(pieces) * LANES;
  const u8* share[BLOCKS];
DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b) share[b] = from + u64{min(first + b * THREADS, parts - 1)} * kBytes;
  u8* const at = to + u64{first} * (8 / LANES);
  if constexpr (LANES > 1) launch_before_ended(share[0]);
  u32 found[BLOCKS];
DIECAST_UNROLL
  for (int b = 0; b < BLOCKS; ++b) {
    found[b] = *word;
DIECAST_UNROLL
    for (int i = 0; i < kBytes; i += kPiece) {
      const Vector<kPiece> loaded = load<kPiece>(share[b] + i);
DIECAST_UNROLL
      for (const u32 of_share : loaded.words) found[b] ^= of_share;
    }
  }
DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b) {
    if (b + 1 == BLOCKS) next_may_begin(found[b]);
    const u32 part = first + b * THREADS;
    if (part >= parts) continue;
    u8* const out = at + u64{b} * THREADS * 8;
    if constexpr (LANES == 1) {
      store_streaming<8>(out, {{found[b], found[b]}});
    } else {
      store_streaming<4>(out, {{found[b]}});
    }
    if (part % LANES == 0) to_scales[part / LANES] = static_cast<u8>(found[b]);
  }
}
