// ordinary_blocks: two blocks of 16 as quantize_together() of
// templates/device/nvfp4/ordinary_codes.h makes codes and scales of them, and as profile te's
// recipe does. TWO_blocks: one behind the other. TWO_columns: by words of two neighbours, a row
// each. TWO_square: as blocks, both under the larger amax.
/* diecast
option   type  IN   {bf16, f16}
option   enum  TWO  {blocks, columns, square} = blocks
size     count
arg      x       in  IN    [count, 32]  align 16
arg      amax    in  f32   [1]
arg      codes   out u32   [count, 8]    // four words as together, four as by the recipe
arg      scales  out e4m3  [count, 4]    // two and two
arg      seldom  out u8    [count]       // 1 where not both were ordinary
arg      count
launch   grid(min(ceil_div(count, 128), sm_count * 64)) block(128)
target   host, sm_80+
exchange none
sample   count {256}
*/
#include <diecast/device/nvfp4/nvfp4_recipe.h>
#include <diecast/device/nvfp4/ordinary_codes.h>
#include <diecast/device/threads/reduce.h>

using Recipe = Nvfp4Recipe<PROFILE_te, GLOBAL_amax, FOUR_OVER_SIX_off, 448, false>;

DIECAST_KERNEL {
  constexpr bool kSquare = TWO == TWO_square;
  for (i64 i = i64{blockIdx.x} * 128 + threadIdx.x; i < count; i += i64{gridDim.x} * 128) {
    const IN* from = x + 32 * i;
    const TwoBlocks<IN> two = {{load_block16(from), load_block16(from + 16)}};
    f32 amaxes[2];
    two.find_amax(amaxes);
    const f32 larger = max_or_nan(amaxes[0], amaxes[1]);
    const f32 of_square = fmaxf(Recipe::amax(two.blocks[0]), Recipe::amax(two.blocks[1]));
    const auto global = with_limit<true>(Recipe::global(*amax));
    const auto by_recipe = [&](const Block16<IN>& block) {
      return Recipe::quantize(block, kSquare ? of_square : Recipe::amax(block), global);
    };
    const auto store = [&](int j, const Nvfp4Block& block) {
      codes[8 * i + 2 * j] = block.codes[0], codes[8 * i + 2 * j + 1] = block.codes[1];
      scales[4 * i + j] = block.scale;
    };
    seldom[i] = 0;
    const auto otherwise = [&](const Block16<IN>& block) {
      seldom[i] = 1;
      return by_recipe(block);
    };
    if constexpr (TWO == TWO_columns) {
      TwoColumns<IN> columns;
      for (int row = 0; row < 16; ++row) columns.words[row] = to_bits(from[row]) | to_bits(from[row + 16]) << 16;
      quantize_together<false>(columns, 0.0f, true, global, otherwise, store);
    } else {
      quantize_together<kSquare>(two, of_square, larger == larger, global, otherwise, store);
    }
    for (int j = 0; j < 2; ++j) store(2 + j, by_recipe(two.blocks[j]));
  }
}
