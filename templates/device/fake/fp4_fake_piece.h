// Fake quantization on a GPU of neighbours that are in registers and share a scale: fp4_fake() of each
// to the bit, in some ten instructions an element. For scales whose inverse is exact enough; the
// others are for fp4_fake_each().
#pragma once

#include <diecast/device/fake/fp4_fake.h>
#include <diecast/device/numbers/eight.h>
#include <diecast/device/numbers/pairs.h>
#include <diecast/device/numbers/quotient.h>

namespace diecast {

// A piece is what a thread loads or stores at once, 16 bytes of the wider type: threads side by side
// write whole lines.
template <class IN, class OUT>
constexpr int kFp4Piece = 128 / (bits<IN>() > bits<OUT>() ? bits<IN>() : bits<OUT>());

#if !DIECAST_HOST

// What a piece is quantized under: p, and the element from which on there is nothing but 6 p.
struct Fp4Limits {
  f32 p, limit;
};

// p = 0 makes zeros of everything: as 1 does when every element is 0.
DIECAST_DEVICE Fp4Limits fp4_limits_or_zeros(f32 p) {
  return p == 0.0f ? Fp4Limits{1.0f, 0.0f} : Fp4Limits{p, __fmul_rn(p, 6.0f)};
}

// 6 p must be near a number of IN's, and neither it nor 1 / p subnormal in f32.
template <class IN>
DIECAST_DEVICE bool is_ordinary_fp4_scale(f32 p) {
  constexpr bool kHalf = dtype_id<IN> == dtype_id<f16>;
  return has_inverse<(kHalf ? -17 : -90), (kHalf ? 13 : 120)>(p);
}

// The largest |element| of `Lanes` neighbouring threads' pieces, NaN ignored, at least +0. All lanes
// of the warp take part.
template <int Lanes, class T, int N>
DIECAST_DEVICE f32 amax_of_lanes(const Neighbours<T, N>& piece) {
  constexpr bool kPairs = bits<T>() == 16;
  const auto larger = [](u32 a, u32 b) {
    if constexpr (kPairs) return larger_pair<T>(a, b);
    return __float_as_uint(fmaxf(fabsf(__uint_as_float(a)), fabsf(__uint_as_float(b))));
  };
  u32 found = piece.words[0];
  DIECAST_UNROLL
  for (int w = 1; w < piece.kWords; ++w) found = larger(found, piece.words[w]);
  DIECAST_UNROLL
  for (int lanes = 1; lanes < Lanes; lanes *= 2) {
    found = larger(found, __shfl_xor_sync(0xFFFFFFFFu, found, lanes));
  }
  if constexpr (kPairs) found = larger(found, found >> 16);
  found = larger(found, 0);
  return to_f32(from_bits<T>(kPairs ? found & 0x7FFFu : found));
}

// x, of at most about 6 p, under the ordinary scale p. With w the power of two at or below
// max(|q|, 1), the step of E2M1's grid at q is w / 2: the last place of a float between 2^22 w and
// 2^23 w, and adding one from the middle of these rounds q of either sign. What rounds to zero is +0.
DIECAST_DEVICE f32 fp4_fake_ordinary(f32 x, f32 p, f32 inverse) {
  const f32 q = quotient_for_e2m1(x, p, inverse);
  const f32 w = __uint_as_float(__float_as_uint(fmaxf(fabsf(q), 1.0f)) & 0x7F800000u);
  return __fmul_rn(__fmaf_rn(w, -0x1.8p22f, __fmaf_rn(w, 0x1.8p22f, q)), p);
}

// The piece under an ordinary scale. Elements beyond the limit are cut off first: so no quotient is
// infinite, and NaN has become -6 p.
template <class OUT, class IN, int N>
DIECAST_DEVICE Neighbours<OUT, N> fp4_fake_piece(Neighbours<IN, N> x, const Fp4Limits& under) {
  if constexpr (bits<IN>() == 16) {
    const u32 limits = pair_from_f32<IN>(under.limit, under.limit);
    DIECAST_UNROLL
    for (int w = 0; w < x.kWords; ++w) x.words[w] = limited_pair<IN, false>(x.words[w], limits);
  }
  const f32 inverse = inverse_of(under.p);
  f32 y[N];
  DIECAST_UNROLL
  for (int i = 0; i < N; ++i) {
    f32 element = x.element(i);
    if constexpr (bits<IN>() == 32) element = fminf(fmaxf(element, -under.limit), under.limit);
    y[i] = fp4_fake_ordinary(element, under.p, inverse);
  }
  Neighbours<OUT, N> out;
  DIECAST_UNROLL
  for (int i = 0; i < N; i += out.kPerWord) {
    if constexpr (bits<OUT>() == 16) {
      out.words[i / 2] = pair_from_f32<OUT>(y[i], y[i + 1]);
    } else {
      out.words[i] = __float_as_uint(y[i]);
    }
  }
  return out;
}

// The same of any scale, to memory; the piece came from `x`, and `count` is at least 1.
template <bool Whole, class IN, class OUT, int N>
DIECAST_DEVICE void store_fp4_fake(const Neighbours<IN, N>& piece, const IN* x, OUT* out, i64 count, const Fp4Limits& under) {
  if (is_ordinary_fp4_scale<IN>(under.p)) {
    fp4_fake_piece<OUT>(piece, under).template store<Whole>(out, count);
  } else {
    fp4_fake_each(x, out, min(count, i64{N}), under.p);
  }
}

#endif

}  // namespace diecast
