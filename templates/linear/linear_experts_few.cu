// linear_experts_few: linear_experts for few rows of each expert on Hopper, with the same bits: the time is that of
// reading the weights, which come as those of linear_few do. A thread block has N_TILE rows of an expert's weights and goes over
// that expert's rows, M_TILE at a time; those of a cluster have a part of the depth each.
/* diecast
use      <diecast/device/linear/expert_ids.h>
use      <diecast/device/linear/weight_stages.h>
launch   grid(ceil_div(GATED ? 2 * cols : cols, N_TILE) * SPLIT, FORM == indexed ? min(rows, experts) : experts)
launch   block(2 * N_TILE + 32) resident(1) cluster(SPLIT) dependent(late)
launch   shared(STAGES * STAGE_BYTES + SUM_BYTES + 16 * STAGES + 16)
target   sm_90a
exchange block
*/
#include <diecast/device/linear/stage_sums.h>
#include <diecast/device/threads/dependent.h>

using Stages = WeightStages<IN, FORMAT, M_TILE, N_TILE, STAGES, SPLIT>;
using Tile = Stages::Tile;
using Part = StagedPart<Stages>;
using Producer = StageProducer<Stages>;
using Cluster = ClusterSums<Stages>;
using Taken = ExpertRows<FORM, M_TILE, ID, HAS_EXPERT_MAP>;
using Result = LinearResult<ACTIVATION, HAS_BIAS, false, IN, OUT>;

// Brings weights and the expert's rows of x, M_TILE rows of it after another.
DIECAST_DEVICE void produce(const Producer& producer, const Part& part, Taken& taken, const IN* x, i64 stride, i64 fan_out) {
  Stages::Turn at = {0, 1};  // at first all stages are empty
  while (taken.next()) {
    Cluster::arrive();
    const i64 row = taken.row(producer.lane), of_x = FORM == FORM_indexed ? row / fan_out : row;
    const IN* rows[M_TILE / 4];
    DIECAST_UNROLL
    for (u32 i = 0; i < M_TILE; i += 4)
      rows[i / 4] = producer.of_row(x + __shfl_sync(~0u, of_x, static_cast<int>(i + producer.lane / 8)) * stride);
    DIECAST_NO_UNROLL
    for (u32 i = 0; i < part.stages; ++i, at.next()) {
      wait_for_phase(producer.shared.empty + 8 * at.slot, at.parity);
      producer.bring_weights(i, at.slot);
      producer.bring_x(i, at.slot, static_cast<u32>(taken.count()), [&](u32 row) DIECAST_INLINED { return rows[row / 4]; });
    }
    Cluster::wait();
  }
  next_may_begin(at.slot);
}

// What is known of the thread block's rows of out.
struct Finish {
  const Result& result;
  const Part& part;
  const Taken& taken;

  // The nth piece of a thread's sums; all lanes of a warp. `there`: it is one.
  DIECAST_DEVICE void store(u32 thread, u32 nth, const f32 (&of)[4], bool there) const {
    const u32 strip = part.first_strip + thread / 128;
    const i64 weight_row = i64{strip} * Tile::kSide + Tile::row_of(thread % 128);
    DIECAST_UNROLL
    for (u32 i = 0; i < 2; ++i) {
      const u32 index = nth * 8 + thread % 4 * 2 + i;
      const i64 row = taken.row(index);
      if (there && index < static_cast<u32>(taken.count())) result.store(row, weight_row, of[i], of[2 + i]);
    }
  }
};

// Multiplies the same rows, and finishes them.
DIECAST_DEVICE void consume(const Stages& shared, const Part& part, Taken& taken, const Result& result) {
  const Finish finish = {result, part, taken};
  Stages::Turn at;
  u32 parity = 0;
  while (taken.next()) {
    Cluster::arrive();
    Stages::Sums sums = {};
    add_stages(sums, shared, part, at);
    Cluster::wait();
    if constexpr (SPLIT == 1) {
      DIECAST_UNROLL
      for (u32 i = 0; i < Stages::kPieces; ++i) finish.store(threadIdx.x, i, sums[i], true);
    } else {
      Cluster::send(shared, sums);
      wait_for_phase(shared.sent, parity);
      parity ^= 1;
      if (threadIdx.x == 0) shared.expect_sums();
      DIECAST_NO_UNROLL
      for (u32 first = 0; first < Cluster::kItems; first += Stages::kThreads) {
        const u32 item = first + threadIdx.x;
        const bool there = item < Cluster::kItems;
        if (there) Cluster::total(sums[0], shared, item);
        finish.store(Cluster::thread_of(item), Cluster::nth_of(item), sums[0], there);
      }
    }
  }
}

DIECAST_KERNEL {
  const Stages shared;
  const Part part(GATED ? 2 * cols : cols, depth);
  const bool produces = threadIdx.x >= Stages::kThreads;
  if (threadIdx.x == Stages::kThreads) shared.begin();
  launch_before_ended();
  const ExpertMap<HAS_EXPERT_MAP> map = {expert_map, HAS_EXPERT_MAP ? global_experts : experts};
  if constexpr (HAS_UNEXPECTED) {  // by the thread blocks of the first rows of weights
    if (blockIdx.x == 0)
      count_unexpected<HAS_EXPERT_MAP, ID>(unexpected, map, routing, rows, i64{blockIdx.y} * blockDim.x + threadIdx.x,
                                           i64{gridDim.y} * blockDim.x);
  }
  const i64 expert = Taken::expert_at(routing, map, blockIdx.y, experts, rows);
  if (expert < 0 || expert >= experts) return;  // as do the others of the cluster
  Taken taken(routing, map, expert, experts, rows);
  __syncthreads();
  if (produces) {
    const i64 strips = ceil_div(GATED ? 2 * cols : cols, i64{Tile::kSide});
    const Producer producer(shared, part, packed + expert * strips * part.all_tiles * Tile::kBytes);
    produce(producer, part, taken, x, x_stride, fan_out);
  } else {
    const Result of_all = {bias, nullptr, out, rows, cols, Tile::kFactor, ALPHA, LIMIT};
    consume(shared, part, taken, result_of_expert(of_all, factor, expert));
  }
}
