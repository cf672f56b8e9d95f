// rotary_embedding: of every token, the first heads of a row are rotated in place, pair after pair,
// by the token's position times the pair's frequency. Elements behind 2 * pairs of a head, and what
// lies behind those heads, stay as they are.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x
option   enum  PAIRS   {halves, neighbours} = halves  // what makes a pair: i and i + pairs, or 2 i and 2 i + 1
let      THREADS = 128
tune     int   blocks  {4, 16} = 16              // blocks a multiprocessor, at most
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
launch   grid(min(tokens, sm_count * blocks)) block(THREADS) dependent
exchange none
sample   tokens {0, 1, 7}  cols {64, 1000}  pairs {1, 32}
*/
#include <diecast/device/math/trig.h>

struct Heads {
  i32 count;  // of a row, that are rotated; all within cols
  i32 size;   // elements of one, at least 2 * pairs
};

DIECAST_KERNEL {
  for (i64 token = blockIdx.x; token < tokens; token += gridDim.x) {
    const f32 position = static_cast<f32>(positions[token]);
    for (i64 i = threadIdx.x; i < heads.count * pairs; i += THREADS) {
      const i64 pair = i % pairs;
      IN* const head = x + token * x_stride + i / pairs * heads.size;
      IN& a = head[PAIRS == PAIRS_halves ? pair : 2 * pair];
      IN& b = head[PAIRS == PAIRS_halves ? pair + pairs : 2 * pair + 1];
      const f32 angle = position * frequencies[pair], cosine = math::cos(angle), sine = math::sin(angle);
      const f32 first = to_f32(a), second = to_f32(b);
      a = from_f32<IN>(first * cosine - second * sine);
      b = from_f32<IN>(second * cosine + first * sine);
    }
  }
}
