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

// What one of `Lanes` threads has of a block: all of its scale, 16 / Lanes of its codes.
template <int Lanes>
struct ShareOfBlock {
  static_assert(Lanes == 1 || Lanes == 2 || Lanes == 4, "a share is two words of codes, one, or half of one");
  static constexpr int kCodes = 16 / Lanes;
  u32 codes[Lanes == 1 ? 2 : 1];
  e4m3 scale;

  // Thread `lane` of them. Each has loaded the whole block: neighbours' elements come with its own.
  template <class IN>
  DIECAST_DEVICE ShareOfBlock(const Block16<IN>& block, u32 lane, const ScaleAndFactor& by)
      : scale(by.scale) {
    if constexpr (Lanes == 1) {
      codes_of(block, by.factor, codes);
      return;
    }
    constexpr int kWords = Block16<IN>::kWords / Lanes;
    u32 own[kWords];
DIECAST_UNROLL
    for (int w = 0; w < kWords; ++w) {
      own[w] = block.words[w];
DIECAST_UNROLL
      for (u32 l = 1; l < Lanes; ++l) own[w] = lane == l ? block.words[l * kWords + w] : own[w];
    }
    f32 y[kCodes];
DIECAST_UNROLL
    for (int i = 0; i < kCodes; ++i) y[i] = __fmul_rn(element_of<IN>(own, i), by.factor);
    if constexpr (Lanes > 1) codes[0] = e2m1_codes(y);
  }

  // To where this thread's codes begin.
  DIECAST_DEVICE void store_codes(u8* to) const {
    if constexpr (Lanes == 1) {
      store_streaming<8>(to, {{codes[0], codes[1]}});
    } else if constexpr (Lanes == 2) {
      store_streaming<4>(to, {{codes[0]}});
    } else {
      *reinterpret_cast<u16*>(to) = static_cast<u16>(codes[0]);
    }
  }
};

// Under the tensor's amax, whatever it is.
template <int Lanes, class IN>
DIECAST_DEVICE_CALL ShareOfBlock<Lanes> share_under_any(Block16<IN> block, u32 lane, f32 amax, f32 of_tensor) {
  const Nvfp4Global global = nvfp4_global_of_any(of_tensor);
  ScaleAndFactor by(__fmul_rn(amax, global.encode_sixth), global.decode);
  by.factor = reciprocal(by.step);
  return {block, lane, by};
}

// The same in one stretch for one that is ordinary, under which nothing on the way needs care: the one
// jump is at its end.
template <int Lanes, class IN>
DIECAST_DEVICE ShareOfBlock<Lanes> share_of_block(const Block16<IN>& block, u32 lane, f32 amax, f32 of_tensor) {
#if DIECAST_HOST
  return share_under_any<Lanes>(block, lane, amax, of_tensor);
#else
  const Nvfp4Global global = nvfp4_global_of_ordinary(of_tensor);
  ShareOfBlock<Lanes> share(block, lane, {__fmul_rn(amax, global.encode_sixth), global.decode});
  if (!nvfp4_is_ordinary(of_tensor)) share = share_under_any<Lanes>(block, lane, amax, of_tensor);
  return share;
#endif
}

}  // namespace diecast
