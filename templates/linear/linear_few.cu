// linear_few: linear for few rows on Hopper, with the same bits: the time is that of reading the weights. A producer warp brings
// stages of weights, by bulk copies, and of x to shared memory, as far ahead as there are stages; each other warp multiplies
// 16 rows of weights. The thread blocks of a cluster take a part of the depth each, and send each other their sums.
/* diecast
use      <diecast/device/linear/linear_result.h>
use      <diecast/device/linear/weight_stages.h>
launch   grid(ceil_div(GATED ? 2 * cols : cols, N_TILE) * SPLIT, ceil_div(rows, M_TILE)) block(2 * N_TILE + 32)
launch   shared(STAGES * STAGE_BYTES + SUM_BYTES + 16 * STAGES + 16) cluster(SPLIT) dependent(late)
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

DIECAST_DEVICE void bring_first_weights(const Producer& producer, const Part& part) {
  DIECAST_NO_UNROLL
  for (u32 i = 0; i < min(part.stages, u32{STAGES}); ++i) producer.bring_weights(i, i);
}

// What each stage is filled with first, weights maybe before, then what follows as soon as it is empty. `x`: the lane's first element.
DIECAST_DEVICE void produce(const Producer& producer, const Part& part, const IN* x, i64 stride, i64 first_row,
                            const DeviceSize& all_rows, bool early) {
  const u32 ahead = min(part.stages, u32{STAGES});
  launch_before_ended();
  if (!early) bring_first_weights(producer, part);
  const auto rows = static_cast<u32>(max(min(all_rows.count() - first_row, i64{M_TILE}), i64{0}));
  const auto row = [&](u32 i) DIECAST_INLINED { return x + i * stride; };
  DIECAST_NO_UNROLL
  for (u32 i = 0; i < ahead; ++i) producer.bring_x(i, i, rows, row);
  Stages::Turn at;
  DIECAST_NO_UNROLL
  for (u32 i = STAGES; i < part.stages; ++i, at.next()) {
    wait_for_phase(producer.shared.empty + 8 * at.slot, at.parity);
    producer.bring_weights(i, at.slot);
    producer.bring_x(i, at.slot, rows, row);
  }
  next_may_begin(at.slot);
}

DIECAST_KERNEL {
  const Stages shared;
  const Part part(GATED ? 2 * cols : cols, depth);
  const i64 first_row = i64{blockIdx.y} * M_TILE;
  const bool produces = threadIdx.x >= Stages::kThreads, early = settled != 0;
  const Producer producer(shared, part, packed);
  const IN* const of_lane = producer.of_row(x + (first_row + producer.lane / 8) * x_stride);
  if (produces) {
    if (producer.lane == 0) shared.begin();
    __syncwarp();
    if (early) bring_first_weights(producer, part);
  }
  __syncthreads();
  Cluster::arrive();
  Stages::Sums sums = {};
  if (produces) {
    produce(producer, part, of_lane, x_stride, first_row, rows, early);
  } else {
    Stages::Turn at;
    add_stages(sums, shared, part, at);
  }
  Cluster::wait();
  if (produces) return;
  launch_before_ended();
  const auto factor_at = [&](int i) DIECAST_INLINED { return ROW_FACTORS ? Tile::kFactor : factor[i] * Tile::kFactor; };
  const LinearResult<ACTIVATION, HAS_BIAS, HAS_RESIDUAL, IN, OUT, ROW_FACTORS> result = {
      bias, residual, out, rows.count(), cols, factor_at(0), ALPHA, LIMIT, factor, factor_at(UP_FACTOR)};
  const auto finish = [&](u32 thread, u32 nth, const f32(&of)[4]) {
    const u32 strip = part.first_strip + thread / 128;
    const i64 row = first_row + nth * 8 + thread % 4 * 2,
              weight_row = i64{strip} * Tile::kSide + Tile::row_of(thread % 128);
    result.store(row, weight_row, of[0], of[2]);
    result.store(row + 1, weight_row, of[1], of[3]);
  };
  if constexpr (SPLIT == 1) {
    DIECAST_UNROLL
    for (u32 i = 0; i < Stages::kPieces; ++i) finish(threadIdx.x, i, sums[i]);
  } else {
    Cluster::send(shared, sums);
    wait_for_phase(shared.sent, 0);
    DIECAST_NO_UNROLL
    for (u32 item = threadIdx.x; item < Cluster::kItems; item += Stages::kThreads) {
      Cluster::total(sums[0], shared, item);
      finish(Cluster::thread_of(item), Cluster::nth_of(item), sums[0]);
    }
  }
}
