// tie_blocks: a block of 16 as templates/device/nvfp4/tie_codes.h makes codes and a scale of it, by
// a table of ways and by a block's own, and as profile te's recipe does.
/* diecast
size     count
arg      x       in  bf16  [count, 16]  align 16
arg      amax    in  f32   [1]
arg      codes   out u32   [count, 6]    // two words by the table, two by its own way, two by the recipe
arg      scales  out e4m3  [count, 3]
arg      seldom  out u8    [count]       // + 1 where the table has no way that is right, + 2 where a block has none
arg      count
launch   grid(min(ceil_div(count, 128), sm_count * 4)) block(128)
target   host, sm_80+
exchange block
sample   count {256}
*/
#include <diecast/device/nvfp4/nvfp4_recipe.h>
#include <diecast/device/nvfp4/tie_codes.h>
#include <diecast/device/nvfp4/tie_factors.h>
#include <diecast/device/nvfp4/tie_ways.h>

using Recipe = Nvfp4Recipe<PROFILE_te, GLOBAL_amax, FOUR_OVER_SIX_off, 448, false>;

DIECAST_KERNEL {
  __shared__ TieFactors ties[2];
  const auto global = with_limit<true>(Recipe::global(*amax));
  make_tie_factors<128>(ties, [&](u32) { return global; });
  TieGlobal under = {shared_place(ties), 0.0f};
  under.find();
  for (i64 i = i64{blockIdx.x} * 128 + threadIdx.x; i < count; i += i64{gridDim.x} * 128) {
    const Block16<bf16> block = load_block16(x + 16 * i);
    const auto store = [&](int at, const Nvfp4Block& found) {
      codes[6 * i + 2 * at] = found.codes[0], codes[6 * i + 2 * at + 1] = found.codes[1];
      scales[3 * i + at] = found.scale;
    };
    const auto by_recipe = [&] { return Recipe::quantize(block, Recipe::amax(block), global); };
    seldom[i] = 0;
    store(0, quantize_one(block, under, [&](const Block16<bf16>&) {
            seldom[i] = 1;
            return by_recipe();
          }));
    const f32 largest = amax_with_nan(block);
    const ScaleAndFactor by(__fmul_rn(largest, global.encode_sixth), __fmul_rn(global.decode, 0x1p14f), kLargest * 0x1p-14f);
    const TieWay way = tie_way(by.step, by.factor);
    Nvfp4Block own = {{}, by.scale};
    u32 seen = 0;
    tie_codes(block, way, own.codes, seen);
#if !DIECAST_HOST  // halves' codes are the block's, and they see what it sees, or the block has wrong ones
    u32 of_halves = 0;
    for (int half = 0; half < 2; ++half) {
      const u32* w = block.words + 4 * half;
      u32 of_half;
      if (tie_codes({w[0], w[1], w[2], w[3]}, way, of_half) != own.codes[half]) own.codes[half] += 1;
      of_halves |= of_half;
    }
    if (of_halves != seen) own.codes[0] += 1;
#endif
    if (global.limit == 0.0f || !(__fmul_rn(largest, way.factor) < kTieLimit)) {
      seldom[i] += 2;
      own = by_recipe();
    }
    store(1, own);
    store(2, by_recipe());
  }
}
