// Packed weights as they are multiplied: on a GPU a thread's registers of a k16 step of 16 rows, for mma.sync m16n8k16
// and for wgmma with A in registers alike, and one step's products; on the host weight by weight. A weight comes
// out times 2^-7, exactly.
#pragma once

#include <diecast/device/linear/packed_tile.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>

namespace diecast {

#if DIECAST_HOST

// The weight of a tile's row and column, times 2^-7.
template <int Format>
DIECAST_DEVICE f32 weight_at(const u8* tile, u32 row, u32 col) {
  using Tile = PackedTile<Format>;
  const u32 thread = row / 16 * 32 + row % 8 * 4 + col % 8 / 2, pair = row / 8 % 2 + col / 8 % 2 * 2;
  const u32 word = load<4>(tile + Tile::code_place(thread, col / 16)).words[0];
  const u32 both = pair == 0   ? pair_codes<0>(word)
                   : pair == 1 ? pair_codes<1>(word)
                   : pair == 2 ? pair_codes<2>(word)
                               : pair_codes<3>(word);
  const u32 code = both >> 16 * (col % 2), block = col / Tile::kScaleBlock;
  const u32 scales = pair_scales<Format>(load<4>(tile + (Tile::scale_place(row, block) & ~3u)).words[0], block % 2 != 0);
  const bf16 scale = {static_cast<u16>(scales >> 16 * (row / 8 % 2))};
  return f32_from_e2m1((code >> 12 & 8u) | (code >> 6 & 7u)) * (to_f32(scale) * 0x1p-126f);
}

#else

// A pair of codes times the scale in the low (0) or the high half-word of `scales`.
template <class X, int Half>
DIECAST_DEVICE u32 scaled_pair(u32 codes, u32 scales) {
  u32 product;
#define DIECAST_SCALED(half, multiply)                                                                          \
  asm("{\n.reg .b16 h<2>;\n.reg .b32 s, z;\nmov.b32 {h0, h1}, %2;\nmov.b32 s, {" half ", " half "};\n" multiply \
      : "=r"(product)                                                                                           \
      : "r"(codes), "r"(scales))
#define DIECAST_SCALED_HALF(multiply) \
  if constexpr (Half == 0) {          \
    DIECAST_SCALED("h0", multiply);   \
  } else {                            \
    DIECAST_SCALED("h1", multiply);   \
  }
  if constexpr (dtype_id<X> == dtype_id<f16>) {
    DIECAST_SCALED_HALF("mul.rn.f16x2 %0, %1, s;\n}")
  } else {
#if DIECAST_CC >= 90
    DIECAST_SCALED_HALF("mul.rn.bf16x2 %0, %1, s;\n}")
#else
    DIECAST_SCALED_HALF("mov.b32 z, 0x80008000;\nfma.rn.bf16x2 %0, %1, s, z;\n}")
#endif
  }
#undef DIECAST_SCALED_HALF
#undef DIECAST_SCALED
  return product;
}

// What a thread has of a tile: its codes, and the scales of its two rows.
template <class X, int Format>
struct WeightFragments {
  static constexpr int kScaleBytes = 4 * PackedTile<Format>::kScaleWords;
  Vector<16> codes;
  Vector<kScaleBytes> scales;

  template <int Pair>
  DIECAST_DEVICE static u32 pair_of(u32 word) {
    const u32 pair = pair_codes<Pair>(word);
    return dtype_id<X> == dtype_id<f16> ? f16_pair_codes(pair) : pair;
  }

  // Registers a0 to a3 of a k16 step.
  DIECAST_DEVICE void step(int nth, u32 (&a)[4]) const {
    constexpr int kSteps = PackedTile<Format>::kScaleBlock / 16;  // of a block
    const u32 word = codes.words[nth], of = scales.words[nth / (2 * kSteps)];
    const bool odd = nth / kSteps % 2 != 0;
    const u32 both = dtype_id<X> == dtype_id<f16> ? f16_pair_scales<Format>(of, odd) : pair_scales<Format>(of, odd);
    a[0] = scaled_pair<X, 0>(pair_of<0>(word), both), a[1] = scaled_pair<X, 1>(pair_of<1>(word), both);
    a[2] = scaled_pair<X, 0>(pair_of<2>(word), both), a[3] = scaled_pair<X, 1>(pair_of<3>(word), both);
  }
};

// sums + 16 rows of weights times 8 of x. A thread's sums: of row lane / 4 of the weights and rows 2 * (lane % 4) and the
// next of x, then of the weights' row 8 further.
template <class X>
DIECAST_DEVICE void add_products(f32 (&sums)[4], const u32 (&a)[4], u32 low, u32 high) {
#define DIECAST_ADD_PRODUCTS(type)                                           \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])           \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(low), "r"(high))
  if constexpr (dtype_id<X> == dtype_id<f16>) {
    DIECAST_ADD_PRODUCTS("f16");
  } else {
    DIECAST_ADD_PRODUCTS("bf16");
  }
#undef DIECAST_ADD_PRODUCTS
}

#endif

}  // namespace diecast
