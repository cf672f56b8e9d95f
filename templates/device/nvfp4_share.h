// A block of 16 that neighbouring threads quantize together in profile te under an amax, each of them
// once: where a launch is little more than one wait for memory, what counts is how long one thread
// computes between its loads and its stores.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/e2m1_codes.h>
#include <diecast/device/nvfp4.h>
#include <diecast/device/vector.h>

namespace diecast {

// Has it computed where this stands: compilers would rather do so where it is used, which is after a wait.
template <class T>
DIECAST_DEVICE void now(T*& pointer) {
#if !DIECAST_HOST
  asm volatile("" : "+l"(pointer));
#endif
}

// What one of `Lanes` neighbours in a warp has of a block: 16 / Lanes elements, the whole block where there is one, and on
// the host, whose threads need not wait for each other then.
template <class IN, int Lanes, bool Whole = Lanes == 1 || DIECAST_HOST>
struct ShareOfBlock {
  static_assert(Lanes == 2 || Lanes == 4, "neighbours take halves or quarters");
  using Element = typename LoadedElement<IN>::Type;
  static constexpr bool kWhole = false;
  static constexpr int kWords = bits<Element>() / 2 / Lanes;
  u32 words[kWords];

  // `first`: the share's first element, or with kWhole the block's.
  DIECAST_DEVICE ShareOfBlock(const IN* first, u32) {
    constexpr int kBytes = 2 * bits<IN>() / Lanes, kPiece = kBytes < 16 ? kBytes : 16;
DIECAST_UNROLL
    for (int i = 0; i < kBytes / kPiece; ++i) {
      const auto piece = load<kPiece>(first + i * (16 / Lanes / 2));
DIECAST_UNROLL
      for (int w = 0; w < kWords * kPiece / kBytes; ++w) {
        if constexpr (bits<IN>() == 8) words[w] = f16_pair_of_e4m3(piece.words[w / 2] >> (w % 2 * 16) & 0xFFFFu);
        else words[i * (kPiece / 4) + w] = piece.words[w];
      }
    }
  }

  // The share's largest |element|, as amax_of() has a block's.
  DIECAST_DEVICE f32 largest() const {
    u32 found = words[0];
DIECAST_UNROLL
    for (int w = 1; w < kWords; ++w) found = larger_elements<Element, false>(found, words[w]);
    if constexpr (bits<Element>() == 16) found = larger_elements<Element, false>(found, found >> 16);
    return fabsf(to_f32(from_bits<Element>(larger_elements<Element, false>(found, 0))));
  }
  // The block's, of its neighbours' `largest`: all ask together.
  DIECAST_DEVICE static f32 amax(f32 largest) {
DIECAST_UNROLL
    for (int distance = 1; distance < Lanes; distance *= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, distance));
    }
    return largest;
  }

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
  static constexpr bool kWhole = true;
  LoadedBlock16<IN> block;
  u32 lane;

  DIECAST_DEVICE ShareOfBlock(const IN* first, u32 of) : block(load_block16(first)), lane(of) {}
  DIECAST_DEVICE explicit ShareOfBlock(const LoadedBlock16<IN>& loaded) : block(loaded), lane(0) {}
  DIECAST_DEVICE f32 largest() const { return amax_of(block); }
  DIECAST_DEVICE static f32 amax(f32 largest) { return largest; }
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
    } else if constexpr (Lanes == 2) {
      store_streaming<4>(to, {{low}});
    } else {
      *reinterpret_cast<u16*>(to) = static_cast<u16>(low);
    }
  }
};

// A block's scale and factor under the tensor's amax, whatever it is; `amax` is the block's.
DIECAST_DEVICE_CALL ScaleAndFactor scale_under_any(f32 amax, f32 of_tensor) {
  const Nvfp4Global global = nvfp4_global_of_any(of_tensor);
  return {nvfp4_block_scale(amax, global), global};
}

// The same without a call for one that is ordinary, under which nothing on the way needs care.
DIECAST_DEVICE ScaleAndFactor scale_under(f32 amax, f32 of_tensor) {
#if !DIECAST_HOST
  if (nvfp4_is_ordinary(of_tensor)) {
    const Nvfp4Global global = nvfp4_global_of_ordinary(of_tensor);
    return {__fmul_rn(amax, global.encode_sixth), global.decode};
  }
#endif
  return scale_under_any(amax, of_tensor);
}

template <class IN, int Lanes>
DIECAST_DEVICE QuantizedShare<Lanes> quantize_share(const ShareOfBlock<IN, Lanes>& share, f32 amax, f32 of_tensor) {
  const ScaleAndFactor by = scale_under(amax, of_tensor);
  return {share.codes(by.factor), by.scale};
}

}  // namespace diecast
