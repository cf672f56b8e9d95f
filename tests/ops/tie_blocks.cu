// tie_blocks: a block of 16 as templates/device/tie_codes.h makes codes and a scale of it, and as
// profile te's recipe does.
/* diecast
size     count
arg      x       in  bf16  [count, 16]  align 16
arg      amax    in  f32   [1]
arg      codes   out u32   [count, 4]    // two words by such factors, two by the recipe
arg      scales  out e4m3  [count, 2]
arg      seldom  out u8    [count]       // 1 where no factor is right
arg      count
launch   grid(min(ceil_div(count, 128), sm_count * 4)) block(128)
target   host, sm_80+
exchange block
sample   count {256}
*/
#include <diecast/device/nvfp4_recipe.h>
#include <diecast/device/tie_codes.h>
#include <diecast/device/tie_factors.h>

using Recipe = Nvfp4Recipe<kProfileTe, kGlobalAmax, 0, 448, false>;

DIECAST_KERNEL {
  __shared__ TieFactors ties[2];
  const auto global = with_limit<true>(Recipe::global(*amax));
  make_tie_factors<128>(ties, [&](u32) { return global; });
  TieGlobal under = {shared_place(ties), 0.0f};
  under.find();
  for (i64 i = i64{blockIdx.x} * 128 + threadIdx.x; i < count; i += i64{gridDim.x} * 128) {
    const Block16<bf16> block = load_block16(x + 16 * i);
    const auto store = [&](int at, const Nvfp4Block& found) {
      codes[4 * i + 2 * at] = found.codes[0], codes[4 * i + 2 * at + 1] = found.codes[1];
      scales[2 * i + at] = found.scale;
    };
    const auto by_recipe = [&] { return Recipe::quantize(block, Recipe::amax(block), global); };
    seldom[i] = 0;
    store(0, quantize_one(block, under, [&](const Block16<bf16>&) {
            seldom[i] = 1;
            return by_recipe();
          }));
    store(1, by_recipe());
  }
}
