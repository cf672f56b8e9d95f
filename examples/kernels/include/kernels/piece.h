// Rows in pieces of 16 bytes, the most that a thread loads at once. Where all pieces are whole and begin at
// multiples of 16 bytes they move at once, else element by element: the same numbers at the same places.
#pragma once

#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/pairs.h>

using diecast::f32;
using diecast::i64;
using diecast::u32;

template <class IN>
constexpr int kPiece = 128 / diecast::bits<IN>();  // elements

template <bool Value>
struct Known {
  static constexpr bool value = Value;
};

// body(Known<true>()) where rows that begin at these addresses have whole pieces alone, else
// body(Known<false>()).
template <class IN, class Body, class... Rows>
DIECAST_DEVICE void in_pieces(i64 cols, const Body& body, const Rows*... rows) {
  if (cols % kPiece<IN> == 0 && ((reinterpret_cast<diecast::u64>(rows) | ...) & 15) == 0) {
    body(Known<true>());
  } else {
    body(Known<false>());
  }
}

// Elements are packed in words: two of 16 bits, or one f32.
template <class IN>
constexpr int kOfWord = kPiece<IN> / 4;

template <class IN>
DIECAST_DEVICE void take_word(u32 word, f32* to) {
  to[0] = diecast::to_f32(diecast::from_bits<IN>(word));
  if constexpr (kOfWord<IN> == 2) to[1] = diecast::to_f32(diecast::from_bits<IN>(word >> 16));
}
template <class IN>
DIECAST_DEVICE u32 word_of(const f32* from) {
  if constexpr (kOfWord<IN> == 1) {
    return diecast::to_bits(diecast::from_f32<IN>(from[0]));
  } else {
#if DIECAST_HOST
    return diecast::to_bits(diecast::from_f32<IN>(from[0])) | diecast::to_bits(diecast::from_f32<IN>(from[1])) << 16;
#else
    return diecast::pair_from_f32<IN>(from[0], from[1]);
#endif
  }
}

// 8 or 16 bytes at a multiple of them; unlike load<>() of memory/vector.h it may follow a store to them.
template <int Bytes>
DIECAST_DEVICE diecast::Vector<Bytes> load_words(const void* from) {
#if DIECAST_HOST
  diecast::Vector<Bytes> v;
  __builtin_memcpy(&v, from, Bytes);
  return v;
#else
  return *static_cast<const diecast::Vector<Bytes>*>(from);
#endif
}

// A piece from there on, or half of one. `left`: elements to the row's end; what is behind it is `pad`, and
// not read.
template <class IN, bool Whole, int Count = kPiece<IN>>
DIECAST_DEVICE void load_piece(const IN* from, i64 left, f32 pad, f32* to) {
  const int count = static_cast<int>(left < Count ? left : Count);
  DIECAST_UNROLL
  for (int i = 0; i < Count; ++i) to[i] = !Whole && i < count ? diecast::to_f32(from[i]) : pad;
  if constexpr (Whole) {
    if (left <= 0) return;
    const auto v = load_words<Count * static_cast<int>(sizeof(IN))>(from);
    DIECAST_UNROLL
    for (int i = 0; i < Count / kOfWord<IN>; ++i) take_word<IN>(v.words[i], to + i * kOfWord<IN>);
  }
}

// The elements before `left`, each rounded to IN.
template <class IN, bool Whole, int Count = kPiece<IN>>
DIECAST_DEVICE void store_piece(IN* to, i64 left, const f32* from) {
  if constexpr (Whole) {
    if (left <= 0) return;
    diecast::Vector<Count * static_cast<int>(sizeof(IN))> v;
    DIECAST_UNROLL
    for (int i = 0; i < Count / kOfWord<IN>; ++i) v.words[i] = word_of<IN>(from + i * kOfWord<IN>);
    diecast::store_streaming<sizeof v>(to, v);
  } else {
    const int count = static_cast<int>(left < Count ? left : Count);
    DIECAST_UNROLL
    for (int i = 0; i < Count; ++i)
      if (i < count) to[i] = diecast::from_f32<IN>(from[i]);
  }
}

// What a thread has of a row: pieces threadIdx.x, threadIdx.x + Threads and so on. The first Held of them
// stay in registers.
template <class IN, int Threads, int Held>
struct HeldPieces {
  f32 values[Held][kPiece<IN>];

  DIECAST_DEVICE static int first(int i) { return (static_cast<int>(threadIdx.x) + i * Threads) * kPiece<IN>; }

  // load(first element, values) is called for each of them.
  template <class Load>
  DIECAST_DEVICE explicit HeldPieces(const Load& load) {
    DIECAST_UNROLL
    for (int i = 0; i < Held; ++i) load(i64{first(i)}, values[i]);
  }

  // visit(first element, values, whether what it leaves in them stays), the pieces of a row in order; those
  // that are not held are loaded for it.
  template <class Load, class Visit>
  DIECAST_DEVICE void each(i64 cols, const Load& load, const Visit& visit) {
    DIECAST_UNROLL
    for (int i = 0; i < Held; ++i) visit(i64{first(i)}, values[i], true);
    for (i64 at = first(Held); at < cols; at += Threads * kPiece<IN>) {
      f32 loaded[kPiece<IN>];
      load(at, loaded);
      visit(at, loaded, false);
    }
  }
};
