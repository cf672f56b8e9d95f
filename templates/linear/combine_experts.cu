// combine_experts: out [rows, cols], each row the sum of what its experts made of it, times the router's weights. Slot j of row t is
// expert topk_ids[t, j], whose result is row t * topk + j of x. The order: from zero on, slots ascending, each product rounded to
// f32, then each sum; last to OUT. A slot of no expert, as -1, is skipped: nothing of x is read for it, nor is its weight. With a
// map ids are those of all experts, and slots are skipped whose expert the map gives none of these.
/* diecast
use      <diecast/device/linear/expert_map.h>
shape    bool  ALIGNED = true                            // rows are whole eights, from multiples of 16 bytes on
option   type  IN      {bf16, f16, f32}                  // element type of x
option   type  OUT     {bf16, f16, f32}                  // element type of out
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 256} = 256             // the most thread blocks a multiprocessor gets
size     rows                                            // of out
size     cols  divisible (ALIGNED ? 8 : 1)
size     topk                                            // slots of a row
size     experts
size     global_experts                                  // that ids count, where they are mapped
arg      x            in  IN   [rows * topk, cols]  align (ALIGNED ? 16 : bits(IN) / 8)
arg      topk_ids     in  ID   [rows, topk]
arg      topk_weights in  f32  [rows, topk]
arg      expert_map   in  i32  [global_experts]  optional  // which of the experts each of all is, or none, as -1
arg      unexpected   inout u32 [1]  optional            // to which the ids are added that are neither of an expert nor -1
arg      out          out OUT  [rows, cols]  align (ALIGNED ? 16 : bits(OUT) / 8)
arg      rows
arg      cols
arg      topk
arg      experts
arg      global_experts
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(rows * ceil_div(cols, 8), THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   rows {0, 1, 7, 130}  cols {1, 8, 40, 300}  topk {1}  experts {4}  global_experts {9}
*/
#include <diecast/device/numbers/eight.h>
#include <diecast/device/threads/row_walk.h>

constexpr int kAtOnce = ALIGNED ? 4 : 2;  // slots whose loads wait together

using Map = ExpertMap<HAS_EXPERT_MAP>;

// What some slots add to eight elements. `ids` and `weights`: of `slots` slots, of which it takes the first kAtOnce.
struct Slots {
  Eight<IN> values[kAtOnce];
  f32 weights[kAtOnce];
  bool there[kAtOnce];

  DIECAST_DEVICE Slots(const ID* ids, const f32* of_ids, i64 slots, const Map& map, i64 experts) {
    DIECAST_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const i64 expert = i < slots ? map.expert(ids[i]) : -1;
      there[i] = expert >= 0 && expert < experts;
      weights[i] = there[i] ? of_ids[i] : 0.0f;
    }
  }
  // `from`: the elements of the first slot, and `stride` further those of the next.
  DIECAST_DEVICE void load(const IN* from, i64 stride, i64 count) {
    DIECAST_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (there[i]) values[i].template load<ALIGNED>(from + i * stride, count);
    }
  }
  DIECAST_DEVICE void add_to(f32 (&sums)[8]) const {
    DIECAST_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (!there[i]) continue;
      DIECAST_UNROLL
      for (int e = 0; e < 8; ++e) sums[e] = __fadd_rn(sums[e], __fmul_rn(weights[i], values[i].element(e)));
    }
  }
};

DIECAST_KERNEL {
  const i64 thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  RowWalk at(ceil_div(cols, 8), rows, thread, threads);
  const Map map = {expert_map, HAS_EXPERT_MAP ? global_experts : experts};
  if constexpr (HAS_UNEXPECTED) count_unexpected<HAS_EXPERT_MAP, ID>(unexpected, map, topk_ids, rows * topk, thread, threads);
  const i64 pieces = rows * at.row_pieces;
  DIECAST_NO_UNROLL
  for (; at.index < pieces; at.next()) {
    const i64 col = 8 * at.piece;
    f32 sums[8] = {};
    DIECAST_NO_UNROLL
    for (i64 slot = 0; slot < topk; slot += kAtOnce) {
      const i64 first = at.row * topk + slot;
      Slots slots(topk_ids + first, topk_weights + first, topk - slot, map, experts);
      slots.load(x + first * cols + col, cols, cols - col);
      slots.add_to(sums);
    }
    Eight<OUT> result;
    DIECAST_UNROLL
    for (int e = 0; e < 8; e += 2) result.set_two(e, sums[e], sums[e + 1]);
    result.template store<ALIGNED>(out + at.row * cols + col, cols - col);
  }
}
