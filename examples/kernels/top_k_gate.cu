// top_k_gate: of every token's logits the K largest, the largest first and of equals the first, and
// their softmax: over all experts, or with RENORMALIZE over those K. A warp takes a token. Logits are
// numbers, or -infinity.
/* diecast
shape    int   EXPERTS                           // experts of a token
shape    int   K                                 // of them are chosen
option   type  IN      {bf16, f16, f32}          // element type of logits
option   bool  RENORMALIZE = false
let      EACH = ceil_div(EXPERTS, 32)            // experts of a lane
let      THREADS = 128
size     tokens
arg      logits  in  IN   [tokens, EXPERTS]  stride
arg      weights out f32  [tokens, K]
arg      experts out i32  [tokens, K]
arg      tokens
require  EXPERTS >= 1 && EXPERTS <= 512          // a lane holds its share of them
require  K >= 1 && K <= min(EXPERTS, 32)         // a lane writes one of them
launch   grid(ceil_div(tokens, THREADS / 32)) block(THREADS)
exchange warp
sample   EXPERTS {64, 500}  K {1, 8}  tokens {0, 1, 7}
*/
#include <diecast/device/math/exp.h>
// As a number that orders as floats do, and back.
DIECAST_DEVICE u32 ordered(f32 x) {
  const u32 bits = __float_as_uint(x + 0.0f);  // -0 is 0
  return bits ^ (bits >> 31 ? 0xFFFFFFFFu : 0x80000000u);
}
DIECAST_DEVICE f32 unordered(u32 x) { return __uint_as_float(x ^ (x >> 31 ? 0x80000000u : 0xFFFFFFFFu)); }

DIECAST_KERNEL {
  const i64 token = i64{blockIdx.x} * (THREADS / 32) + threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32, all = 0xFFFFFFFFu;
  if (token >= tokens) return;
  i32 expert = 0;
  u32 left[EACH], most = 0;  // of this lane's logits; 0: none, or chosen
  for (int i = 0; i < EACH; ++i) {
    left[i] = lane + 32 * i < EXPERTS ? ordered(to_f32(logits[token * logits_stride + lane + 32 * i])) : 0;
    most = max(most, left[i]);
  }
  const f32 largest = unordered(__reduce_max_sync(all, most));
  f32 sum = 0, weight = 0;
  if constexpr (!RENORMALIZE) {
    for (int i = 0; i < EACH; ++i) sum += left[i] == 0 ? 0.0f : math::exp(unordered(left[i]) - largest);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(all, sum, distance);
  }
  for (u32 nth = 0; nth < K; ++nth) {
    u32 best = left[0], at = lane;
    for (int i = 1; i < EACH; ++i)
      if (left[i] > best) best = left[i], at = lane + 32 * i;
    const u32 of_all = __reduce_max_sync(all, best), chosen = __reduce_min_sync(all, best == of_all ? at : all);
    for (int i = 0; i < EACH; ++i)
      if (lane + 32 * i == chosen) left[i] = 0;
    const f32 share = math::exp(unordered(of_all) - largest);
    if constexpr (RENORMALIZE) sum += share;
    if (lane == nth) weight = share, expert = static_cast<i32>(chosen);
  }
  if (lane >= K) return;
  weights[token * K + lane] = __fdiv_rn(weight, sum);
  experts[token * K + lane] = expert;
}
