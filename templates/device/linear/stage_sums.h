// The sums of weights and few rows of x that come in stages (weight_stages.h): each warp multiplies 16 rows of weights
// by mma.sync, and thread blocks of a cluster, which have a part of the depth each, send each other theirs.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/weight_fragments.h>
#include <diecast/device/linear/weight_stages.h>
#include <diecast/device/memory/bulk_copy.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/threads/cluster.h>

#if DIECAST_CC >= 90

namespace diecast {

// Eight rows of x by 32 of the depth: the registers of two steps.
DIECAST_DEVICE void load_matrices(u32 (&to)[4], u32 from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from));
}

// Adds the products of a tile; of `steps` of it, if not Whole.
template <class Stages, bool Whole>
DIECAST_DEVICE void add_staged_tile(typename Stages::Sums& sums, u32 weights, u32 of_x, int steps) {
  using Tile = typename Stages::Tile;
  using Fragments = typename Stages::Fragments;
  using X = typename Stages::X;
  const u32 thread = threadIdx.x % 128, lane = threadIdx.x % 32;
  const Fragments fragments = {
      load_shared<16>(weights + thread * 16),
      load_shared<Fragments::kScaleBytes>(weights + Tile::kCodeBytes + thread / 4 * Fragments::kScaleBytes)};
  of_x += lane % 8 * Stages::kPitch + lane / 8 * 16;
  DIECAST_UNROLL
  for (int two = 0; two < 2; ++two) {
    if (!Whole && 2 * two >= steps) break;
    u32 a[2][4];
    DIECAST_UNROLL
    for (int i = 0; i < 2; ++i) fragments.step(2 * two + i, a[i]);
    DIECAST_UNROLL
    for (int piece = 0; piece < Stages::kPieces; ++piece) {
      u32 b[4];
      load_matrices(b, of_x + piece * (8 * Stages::kPitch) + two * 64);
      add_products<X>(sums[piece], a[0], b[0], b[1]);
      if (Whole || 2 * two + 1 < steps) add_products<X>(sums[piece], a[1], b[2], b[3]);
    }
  }
}

// Adds the products of all stages of a part.
template <class Stages>
DIECAST_DEVICE void add_stages(typename Stages::Sums& sums, const Stages& shared, const StagedPart<Stages>& part,
                               typename Stages::Turn& at) {
  using Tile = typename Stages::Tile;
  constexpr int kDeep = Stages::kDeep;
  int steps = static_cast<int>(part.depth / 16);
  DIECAST_NO_UNROLL
  for (u32 i = part.stages; i > 0; --i) {
    wait_for_phase(shared.full + 8 * at.slot, at.parity);
    const u32 weights = shared.weights(at.slot, threadIdx.x / 128), x = shared.x(at.slot);
    if (steps >= 4 * kDeep) {
      DIECAST_UNROLL
      for (int tile = 0; tile < kDeep; ++tile)
        add_staged_tile<Stages, true>(sums, weights + tile * Tile::kBytes, x + tile * 128, 4);
    } else {
      DIECAST_NO_UNROLL
      for (int tile = 0; 4 * tile < steps; ++tile)
        add_staged_tile<Stages, false>(sums, weights + tile * Tile::kBytes, x + tile * 128, steps - 4 * tile);
    }
    steps -= 4 * kDeep;
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(shared.empty + 8 * at.slot);
    at.next();
  }
}

// Of each thread block of a cluster, which finishes the sums of some threads of all.
template <class Stages>
struct ClusterSums {
  static constexpr int kSplit = Stages::kSplit, kPieces = Stages::kPieces;
  static constexpr u32 kShare = Stages::kThreads / kSplit, kItems = kShare * kPieces;  // threads; pieces of theirs

  // All threads of a cluster, before sums are sent: none of them needs those that were sent before.
  DIECAST_DEVICE static void arrive() {
    if (kSplit > 1) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  }
  DIECAST_DEVICE static void wait() {
    if (kSplit > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }

  // Sums of a thread to where they are finished, behind those of the blocks of lower rank.
  DIECAST_DEVICE static void send(const Stages& shared, const typename Stages::Sums& sums) {
    const u32 thread = threadIdx.x, place = cluster_rank<kSplit>() * kShare + thread % kShare;
    DIECAST_UNROLL
    for (int i = 0; i < kPieces; ++i) {
      asm volatile(
          "{\n .reg .b32 to, bar;\n mapa.shared::cluster.u32 to, %0, %2;\n mapa.shared::cluster.u32 bar, %1, %2;\n"
          " st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [to], {%3, %4, %5, %6}, [bar];\n}" ::"r"(
              shared.sums + (place * kPieces + i) * 16),
          "r"(shared.sent), "r"(thread / kShare), "f"(sums[i][0]), "f"(sums[i][1]), "f"(sums[i][2]), "f"(sums[i][3])
          : "memory");
    }
  }

  // The thread, of all of a part, whose nth piece an item is.
  DIECAST_DEVICE static u32 thread_of(u32 item) { return cluster_rank<kSplit>() * kShare + item / kPieces; }
  DIECAST_DEVICE static u32 nth_of(u32 item) { return item % kPieces; }

  // The sums of all parts of an item, added in order.
  DIECAST_DEVICE static void total(f32 (&sums)[4], const Stages& shared, u32 item) {
    DIECAST_UNROLL
    for (int rank = 0; rank < kSplit; ++rank) {
      const Vector<16> part = load_shared<16>(shared.sums + (rank * kItems + item) * 16);
      DIECAST_UNROLL
      for (int i = 0; i < 4; ++i) {
        const f32 sum = __uint_as_float(part.words[i]);
        sums[i] = rank == 0 ? sum : __fadd_rn(sums[i], sum);
      }
    }
  }
};

}  // namespace diecast

#endif
