// accesses_once: the loads, stores and threads of quantizing a matrix whose blocks of 16 neighbouring
// threads take together, each once, without the arithmetic: each loads its share of the block and a word
// that is the same for all, and writes as many codes of the xor of that.
/* diecast
tune     int   LANES   {1, 2, 4} = 2                     // neighbours that take a block together
tune     int   THREADS {128, 256, 512} = 128
size     pieces                                          // blocks of 16 elements of 2 bytes
arg      from      in   u8   [pieces * 32]  align 16
arg      to        out  u8   [pieces * 8]  align 8
arg      to_scales out  u8   [pieces]
arg      word      in   u32  [1]
arg      pieces
launch   grid(1, ceil_div(pieces * LANES, THREADS)) block(THREADS) dependent(late)
target   sm_80+
exchange none
sample   pieces {0, 1, 1000}
*/
#include <diecast/device/dependent.h>
#include <diecast/device/vector.h>

DIECAST_KERNEL {
  constexpr int kBytes = 32 / LANES, kPiece = kBytes < 16 ? kBytes : 16;
  if constexpr (LANES == 1) launch_before_ended();
  const u32 part = blockIdx.y * THREADS + threadIdx.x, piece = part / LANES;
  const u8* share = from + u64{min(part, static_cast<u32>(pieces) * LANES - 1)} * kBytes;
  u8* const at = to + u64{part} * (8 / LANES);
  if constexpr (LANES > 1) launch_before_ended(share);
  u32 found = *word;
DIECAST_UNROLL
  for (int i = 0; i < kBytes; i += kPiece) {
    const Vector<kPiece> loaded = load<kPiece>(share + i);
DIECAST_UNROLL
    for (const u32 of_share : loaded.words) found ^= of_share;
  }
  next_may_begin(found);
  if (piece >= static_cast<u32>(pieces)) return;
  if constexpr (LANES == 1) {
    store_streaming<8>(at, {{found, found}});
  } else if constexpr (LANES == 2) {
    store_streaming<4>(at, {{found}});
  } else {
    *reinterpret_cast<u16*>(at) = static_cast<u16>(found);
  }
  if (part % LANES == 0) to_scales[piece] = static_cast<u8>(found);
}
