// A block of 16 that neighbouring threads quantize together in profile te under an amax, each of them
// once: where a launch is little more than one wait for memory, what counts is how long one thread
// computes between its loads and its stores. Where nothing converts to E2M1 by itself, blocks as nearly all are go a shorter
// way than the recipe's, and the others take it in a call, from memory.
#pragma once

#include <diecast/device/blocks/block16.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/e2m1_codes.h>
#include <diecast/device/nvfp4/nvfp4.h>
#include <diecast/device/nvfp4/ordinary_codes.h>
#include <diecast/device/nvfp4/tie_codes.h>
#include <diecast/device/nvfp4/tie_ways.h>
#include <diecast/device/threads/reduce.h>

namespace diecast {

// Has it computed where this stands: compilers would rather do so where it is used, which is after a wait.
template <class T>
DIECAST_DEVICE void now(T*& pointer) {
#if !DIECAST_HOST
  asm volatile("" : "+l"(pointer));
#endif
}

// Whether no element is NaN or infinite, by a sum of zeros. It says something where there is a short way alone.
template <class Element, int Words>
DIECAST_DEVICE bool are_finite(const u32 (&words)[Words]) {
  u32 sum = 0;
#if !DIECAST_HOST
  DIECAST_UNROLL
  for (const u32 word : words) {
    if constexpr (dtype_id<Element> == dtype_id<bf16>) {
      asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(0));
    } else if constexpr (dtype_id<Element> == dtype_id<f16>) {
      asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(0));
    }
  }
#endif
  return sum == 0;
}

// What one of `Lanes` neighbours in a warp has of a block: 16 / Lanes elements, the whole block where there is one, and on
// the host, whose threads need not wait for each other then.
template <class IN, int Lanes, bool Whole = Lanes == 1 || DIECAST_HOST>
struct ShareOfBlock {
  static_assert(Lanes == 2, "neighbours take halves");
  using Element = typename LoadedElement<IN>::Type;
  static constexpr bool kWhole = false;
  static constexpr int kWords = bits<Element>() / 2 / Lanes;
  u32 words[kWords];

  ShareOfBlock() = default;
  // `first`: the share's first element, or with kWhole the block's.
  DIECAST_DEVICE ShareOfBlock(const IN* first, u32) {
    constexpr int kBytes = 2 * bits<IN>() / Lanes, kPiece = kBytes < 16 ? kBytes : 16;
    DIECAST_UNROLL
    for (int i = 0; i < kBytes / kPiece; ++i) {
      const auto piece = load<kPiece>(first + i * (16 / Lanes / 2));
      DIECAST_UNROLL
      for (int w = 0; w < kWords * kPiece / kBytes; ++w) {
        if constexpr (bits<IN>() == 8)
          words[w] = f16_pair_of_e4m3(piece.words[w / 2] >> (w % 2 * 16) & 0xFFFFu);
        else
          words[i * (kPiece / 4) + w] = piece.words[w];
      }
    }
  }

  // The share's largest |element|, as amax_of() has a block's, or with Nan as amax_with_nan().
  template <bool Nan = false>
  DIECAST_DEVICE f32 largest() const {
    u32 found = words[0];
    DIECAST_UNROLL
    for (int w = 1; w < kWords; ++w) found = larger_elements<Element, Nan>(found, words[w]);
    if constexpr (bits<Element>() == 16) found = larger_elements<Element, Nan>(found, found >> 16);
    if constexpr (!Nan) found = larger_elements<Element, false>(found, 0);
    return fabsf(to_f32(from_bits<Element>(found)));
  }
  // The block's, of its neighbours' `largest`: all ask together.
  DIECAST_DEVICE static f32 amax(f32 largest) { return lanes_reduce_max<Lanes>(largest); }

  DIECAST_DEVICE bool is_finite() const { return are_finite<Element>(words); }
  // Codes of its elements times `factor`.
  DIECAST_DEVICE u32 codes(f32 factor) const {
    f32 y[16 / Lanes];
    DIECAST_UNROLL
    for (int i = 0; i < 16 / Lanes; ++i) y[i] = __fmul_rn(element_of<Element>(words, i), factor);
    return e2m1_codes(y);
  }
};

template <class IN, int Lanes>
struct ShareOfBlock<IN, Lanes, true> {
  using Element = typename LoadedElement<IN>::Type;
  static constexpr bool kWhole = true;
  LoadedBlock16<IN> block;
  u32 lane;

  ShareOfBlock() = default;
  DIECAST_DEVICE ShareOfBlock(const IN* first, u32 of) : block(load_block16(first)), lane(of) {}
  DIECAST_DEVICE explicit ShareOfBlock(const LoadedBlock16<IN>& loaded) : block(loaded), lane(0) {}
  template <bool Nan = false>
  DIECAST_DEVICE f32 largest() const {
    return Nan ? amax_with_nan(block) : amax_of(block);
  }
  DIECAST_DEVICE static f32 amax(f32 largest) { return largest; }
  DIECAST_DEVICE bool is_finite() const { return are_finite<Element>(block.words); }
  DIECAST_DEVICE u64 codes(f32 factor) const {
    u32 codes[2];
    codes_of(block, factor, codes);
    const u64 all = codes[0] | u64{codes[1]} << 32;
    return Lanes == 1 ? all : all >> lane * (64 / Lanes);
  }
};

// What becomes of such a share: 16 / Lanes codes, and the block's scale.
template <int Lanes>
struct QuantizedShare {
  u64 codes;
  e4m3 scale;

  // To where this thread's codes begin.
  DIECAST_DEVICE void store_codes(u8* to) const {
    const u32 low = static_cast<u32>(codes);
    if constexpr (Lanes == 1) {
      store_streaming<8>(to, {{low, static_cast<u32>(codes >> 32)}});
    } else {
      store_streaming<4>(to, {{low}});
    }
  }
};

// The tensor's amax, and what is made of it if it is ordinary: here, and not where it is asked for, which is after a wait.
struct UnderAmax {
  f32 of_tensor;
  Nvfp4Global ordinary;

  DIECAST_DEVICE explicit UnderAmax(f32 amax) : of_tensor(amax) {
#if !DIECAST_HOST
    ordinary = nvfp4_global_of_ordinary(amax);
    asm volatile("" : "+f"(ordinary.encode_sixth), "+f"(ordinary.decode));
#endif
  }
};

// A block's scale and factor under the tensor's amax, whatever it is; `amax` is the block's. And the same in a call.
DIECAST_DEVICE ScaleAndFactor recipe_scale(f32 amax, f32 of_tensor) {
  const Nvfp4Global global = nvfp4_global_of_any(of_tensor);
  return {nvfp4_block_scale(amax, global), global};
}
DIECAST_DEVICE_CALL ScaleAndFactor scale_under_any(f32 amax, f32 of_tensor) { return recipe_scale(amax, of_tensor); }

// The same without a call for one that is ordinary, under which nothing on the way needs care.
DIECAST_DEVICE ScaleAndFactor scale_under(f32 amax, const UnderAmax& under) {
#if !DIECAST_HOST
  if (nvfp4_is_ordinary(under.of_tensor)) return {__fmul_rn(amax, under.ordinary.encode_sixth), under.ordinary.decode};
#endif
  return scale_under_any(amax, under.of_tensor);
}

// Whether shares have a shorter way than the recipe's: a block that they are of may then have an amax of NaN.
template <class IN, int Lanes>
constexpr bool kHasShortWay = (dtype_id<IN> == dtype_id<bf16> || (dtype_id<IN> == dtype_id<f16> && Lanes == 1)) &&
                              !DIECAST_HAS_E2M1_CVT && !DIECAST_HOST;

#if !DIECAST_HOST
// The share of `lane` of a block in memory, as the recipe has it: called, and a loop, for the sake of the compiler's time. But where
// a row's amax is found, rows of zeros are not rare.
template <int Lanes, class IN>
DIECAST_DEVICE_CALL QuantizedShare<Lanes> quantize_seldom(const IN* first, u32 lane, f32 of_tensor) {
  constexpr int kShare = 16 / Lanes;
  const Block16<IN> block = load_block16(first);
  const f32 amax = amax_of(block);
  if (of_tensor == 0.0f && amax == 0.0f && are_finite<IN>(block.words)) {
    return {(signs_of(block, 0) | u64{signs_of(block, 1)} << 32) >> lane * (64 / Lanes), {0}};
  }
  const ScaleAndFactor by = recipe_scale(amax, of_tensor);
  u64 codes = 0;
  DIECAST_NO_UNROLL
  for (int i = 0; i < kShare; ++i)
    codes = codes >> 4 | u64{seldom_code(__fmul_rn(to_f32(first[lane * kShare + i]), by.factor))} << 60;
  return {codes >> (64 - 64 / Lanes), by.scale};
}

template <class IN, int Lanes>
DIECAST_DEVICE u64 short_codes(const ShareOfBlock<IN, Lanes, false>& share, const TieWay& way, u32& seen) {
  return tie_codes(share.words, way, seen);
}
template <class IN, int Lanes>
DIECAST_DEVICE u64 short_codes(const ShareOfBlock<IN, Lanes, true>& share, const TieWay& way, u32& seen) {
  u32 codes[2];
  tie_codes(share.block, way, codes, seen);
  return codes[0] | u64{codes[1]} << 32;
}
#endif

// `lane`'s share of the block that begins at `block`. With Nan `amax` is NaN where an element is; otherwise that is seen by the codes.
template <class IN, int Lanes, bool Nan>
DIECAST_DEVICE QuantizedShare<Lanes> quantize_share(const IN* block, u32 lane, const ShareOfBlock<IN, Lanes>& share, f32 amax,
                                                    const UnderAmax& under) {
#if !DIECAST_HOST
  if constexpr (kHasShortWay<IN, Lanes>) {
    QuantizedShare<Lanes> out;
    const f32 wanted = __fmul_rn(amax, under.ordinary.encode_sixth);
    f32 largest, limit;
    bool finite = true;
    if constexpr (dtype_id<IN> == dtype_id<bf16>) {
      const ScaleAndFactor by(wanted, __fmul_rn(under.ordinary.decode, 0x1p14f), kLargest * 0x1p-14f);
      const TieWay way = tie_way(by.step, by.factor);
      u32 seen;
      out = {short_codes(share, way, seen), by.scale};
      if constexpr (!Nan) finite = (seen & kTieLarge) == 0;
      largest = __fmul_rn(amax, way.factor), limit = kTieLimit;
    } else {
      const ScaleAndFactor by(wanted, under.ordinary.decode);
      u32 codes[2];
      ordinary_codes(share.block, by.factor, codes);
      out = {codes[0] | u64{codes[1]} << 32, by.scale};
      largest = __fmul_rn(amax, by.factor), limit = 7.0f;
      if constexpr (!Nan) finite = share.is_finite();
    }
    if (!(finite && nvfp4_is_ordinary(under.of_tensor) && largest < limit))
      return quantize_seldom<Lanes>(block, lane, under.of_tensor);
    return out;
  }
#endif
  const ScaleAndFactor by = scale_under(amax, under);
  return {share.codes(by.factor), by.scale};
}

}  // namespace diecast
