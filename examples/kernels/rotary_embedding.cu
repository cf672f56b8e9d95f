// rotary_embedding: of every token, the first heads of a row are rotated in place, pair after pair, by its
// position times the pair's frequency. What lies behind 2 * pairs of a head, and behind those heads, stays.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x
option   enum  PAIRS   {halves, neighbours} = halves  // what makes a pair: i and i + pairs, or 2 i and 2 i + 1
tune     int   THREADS {64, 128} = 128           // and half the pairs of a block, which rotates them in all heads
size     tokens
size     cols
size     pairs
arg      x           inout IN   [tokens, cols]  stride
arg      positions   in    i64  [tokens]
arg      frequencies in    f32  [pairs]         settled
arg      heads       struct Heads 8
arg      tokens
arg      cols
arg      pairs
launch   grid(tokens * ceil_div(pairs, 2 * THREADS)) block(THREADS) dependent
sample   tokens {0, 1, 7}  cols {64, 1000}  pairs {1, 32}
*/
#include <diecast/device/math/trig.h>
#include <kernels/piece.h>
struct Heads {
  i32 count, size;  // of a row that are rotated, all within cols; elements of one, at least 2 * pairs
};

DIECAST_KERNEL {
  constexpr int N = kPiece<IN>, PART = 2 * THREADS;  // pairs of a turn, in two pieces; pairs of the block
  constexpr bool kHalves = PAIRS == PAIRS_halves;
  alignas(16) __shared__ f32 cosines[PART], sines[PART];
  const u32 parts = static_cast<u32>(ceil_div(pairs, PART)), token = blockIdx.x / parts;
  const i64 first = i64{blockIdx.x - token * parts} * PART;
  const int count = static_cast<int>(min(pairs - first, i64{PART})), turns = ceil_div(count, N), all = heads.count * turns;
  const auto rotate = [&](auto whole) {
    constexpr bool kWhole = decltype(whole)::value;
    f32 both[2 * N];
    const auto each = [&](int i, auto move) {
      const int own = i % turns * N, left = kWhole ? N : (kHalves ? 1 : 2) * (count - own);
      IN* const a = x + (token * x_stride + i64{i / turns} * heads.size + (kHalves ? 1 : 2) * (first + own));
      move(a, left, both), move(a + (kHalves ? pairs : N), kWhole || kHalves ? left : left - N, both + N);
    };
    const auto load = [](IN* from, int left, f32* to) { load_piece<IN, kWhole>(from, left, 0, to); };
    int i = threadIdx.x;
    if (i < all) each(i, load);  // is waited for while angles are made
    for (int pair = threadIdx.x; pair < count; pair += THREADS) {
      const f32 angle = static_cast<f32>(positions[token]) * frequencies[first + pair];
      cosines[pair] = math::cos(angle), sines[pair] = math::sin(angle);
    }
    __syncthreads();
    for (; i < all; i += THREADS) {
      if (i >= THREADS) each(i, load);
      for (int pair = 0; pair < N; ++pair) {
        f32 &a = both[kHalves ? pair : 2 * pair], &b = both[kHalves ? pair + N : 2 * pair + 1];
        const f32 was = a, cosine = cosines[i % turns * N + pair], sine = sines[i % turns * N + pair];
        a = was * cosine - b * sine, b = b * cosine + was * sine;
      }
      each(i, [](IN* to, int left, f32* from) { store_piece<IN, kWhole>(to, left, from); });
    }
  };
  in_pieces<IN>(heads.size | pairs, rotate, &x[token * x_stride]);
}
