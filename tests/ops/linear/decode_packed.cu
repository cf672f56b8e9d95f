// decode_packed: the weights of packed tiles as a product decodes them, rounded to IN: weight * 2^-7.
/* diecast
use      <diecast/device/linear/packed_tile.h>  // FORMAT
option   type  IN     {bf16, f16}
let      F16 = IN == f16
size     tiles
arg      packed in   u8   [tiles, TILE_BYTES]  align 16
arg      out    out  IN   [tiles, 64, 64]
arg      tiles
launch   grid(tiles) block(128)
target   host, sm_80+
exchange none
sample   tiles {1}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/x2.h>

using Tile = PackedTile<FORMAT>;

template <class T>
DIECAST_DEVICE X2<T> two(u32 word) {
  return {T{static_cast<u16>(word)}, T{static_cast<u16>(word >> 16)}};
}

DIECAST_KERNEL {
  const u8* tile = packed + i64{blockIdx.x} * TILE_BYTES;
  IN* to = out + i64{blockIdx.x} * 64 * 64;
  const u32 thread = threadIdx.x, row = Tile::row_of(thread);
  for (u32 step = 0; step < 4; ++step) {
    const u32 word = load<4>(tile + Tile::code_place(thread, step)).words[0];
    const u32 block = step * 16 / SCALE_BLOCK;
    const u32 scale_word = load<4>(tile + Tile::scale_place(row, block & ~1u)).words[0];
    const bool odd = block % 2 == 1;
    u32 pairs[4] = {pair_codes<0>(word), pair_codes<1>(word), pair_codes<2>(word), pair_codes<3>(word)};
    u32 scales = pair_scales<FORMAT>(scale_word, odd);
    if constexpr (F16) {
      for (u32& pair : pairs) pair = f16_pair_codes(pair);
      scales = f16_pair_scales<FORMAT>(scale_word, odd);
    }
    for (u32 pair = 0; pair < 4; ++pair) {
      const u32 at = row + 8 * (pair % 2), col = 16 * step + thread % 4 * 2 + pair / 2 * 8;
      const u32 scale = pair % 2 == 0 ? scales & 0xFFFFu : scales >> 16;
      const X2<IN> weights = two<IN>(pairs[pair]) * two<IN>(scale | scale << 16);
      to[at * 64 + col] = weights.x, to[at * 64 + col + 1] = weights.y;
    }
  }
}
