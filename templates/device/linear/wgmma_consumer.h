// A thread of the warpgroups that multiply what is in the ring: each converts a tile's weights, 64 rows, in registers
// while wgmma multiplies the tile before. Its sums go to out through shared memory.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/linear_rows.h>
#include <diecast/device/linear/weight_fragments.h>
#include <diecast/device/linear/wgmma_ring.h>
#include <diecast/device/linear/wgmma_sums.h>
#include <diecast/device/memory/shared_place.h>

#if DIECAST_CC == 90

namespace diecast {

template <class OfRing, class OfSums, class X, int Format, bool Gated>
struct WgmmaConsumer {
  using Ring = OfRing;
  using Weights = WeightFragments<X, Format>;
  static constexpr int kPitch = 68;     // floats from a row of 64 sums to the next: a warp's stores meet in no bank
  static constexpr int kHeldRows = 32;  // rows of out whose sums are put at once
  static constexpr int kLanes = (Gated ? 32 : 64) / 8;  // threads that make a row of out of 64 sums, eight elements each

  OfSums sums;
  Ring ring;
  u32 group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = threadIdx.x % 32;
  u32 codes = diecast::held(group * Ring::kTileBytes + thread * 16);
  u32 scales = diecast::held(group * Ring::kTileBytes + PackedTile<Format>::kCodeBytes + thread / 4 * Weights::kScaleBytes);
  typename Ring::Stage at = {};

  DIECAST_DEVICE explicit WgmmaConsumer(const Ring& of) : ring(of) {}

  // The next stage's weights as wgmma takes them, by steps of 16 of the depth.
  DIECAST_DEVICE void convert(u32 (&a)[4][4]) const {
    wait_for_phase(ring.full(at), at.parity);
    const u32 from = ring.weights(at);
    const Weights weights = {load_shared<16>(from + codes), load_shared<Weights::kScaleBytes>(from + scales)};
    DIECAST_UNROLL
    for (int step = 0; step < 4; ++step) weights.step(step, a[step]);
  }

  // A warp is done with a stage, of which all thread blocks that share x are told.
  DIECAST_DEVICE void leave(u32 empty) const {
    if constexpr (Ring::kSharers > 1) {
      if (lane < Ring::kSharers) arrive_at(empty, lane);
    } else {
      if (lane == 0) arrive(empty);
    }
  }

  // Adds the products of some tiles of the depth and the first `Columns` rows of x. While those of one run, the weights of
  // the next are converted.
  template <int Columns = OfSums::kColumns>
  DIECAST_DEVICE void multiply(u32 tiles) {
    sums.template begin<Columns>();
    if (tiles == 0) return;
    u32 a[2][4][4], empty = 0;
    convert(a[0]);
    DIECAST_NO_UNROLL
    for (u32 tile = 0; tile < tiles;) {
      DIECAST_UNROLL
      for (int half = 0; half < 2; ++half) {
        if (half == 1 && tile == tiles) break;
        sums.template add<Columns>(a[half], ring.x(at));
        sums.template wait<1>();
        if (tile > 0) leave(empty);
        empty = ring.empty(at);
        at.next();
        if (++tile < tiles) convert(a[1 - half]);
      }
    }
    sums.template wait<0>();
    leave(empty);
  }

  // Puts the sums of 32 rows of out, one of `nth`, so that a row's 64 follow each other.
  template <int Nth>
  DIECAST_DEVICE void put_rows(u32 to) const {
    if constexpr (Nth < OfSums::kColumns / kHeldRows) {
      sums.template put<4 * Nth, kPitch>(to);
      sums.template put<4 * Nth + 1, kPitch>(to + 8 * 4 * kPitch);
      sums.template put<4 * Nth + 2, kPitch>(to + 16 * 4 * kPitch);
      sums.template put<4 * Nth + 3, kPitch>(to + 24 * 4 * kPitch);
    }
  }
  DIECAST_DEVICE void put(u32 nth, u32 to) const {
    to += (lane % 4 * 2 * kPitch + thread / 32 * 16 + lane / 4) * 4;
    switch (nth) {
      case 0:
        return put_rows<0>(to);
      case 1:
        return put_rows<1>(to);
      case 2:
        return put_rows<2>(to);
      case 3:
        return put_rows<3>(to);
      case 4:
        return put_rows<4>(to);
      case 5:
        return put_rows<5>(to);
      case 6:
        return put_rows<6>(to);
      case 7:
        return put_rows<7>(to);
    }
  }
  // Where the thread's sums of a row that was put lie.
  DIECAST_DEVICE u32 place(u32 held, u32 row) const { return held + (row * kPitch + thread % kLanes * (64 / kLanes)) * 4; }

  // Threads of the warpgroup see what the others have put.
  DIECAST_DEVICE void meet() const { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

  // Makes rows `row` to `to.result.rows` of out, as far as there are sums of them, 32 at a time, in two places by turns.
  // Through shared memory neighbouring threads store neighbours.
  template <class Rows>
  DIECAST_DEVICE void finish(const Rows& to, i64 row, i64 col) const {
    u32 nth = 0;
    DIECAST_NO_UNROLL
    for (; nth < OfSums::kColumns / kHeldRows && row < to.result.rows; ++nth, row += kHeldRows) {
      const u32 held = ring.held() + (group * 2 + nth % 2) * (kHeldRows * kPitch * 4);
      put(nth, held);
      meet();
      DIECAST_UNROLL
      for (u32 i = 0; i < kHeldRows; i += 128 / kLanes) {
        const u32 at_row = i + thread / kLanes;
        EightSums first, second;
        first.load(place(held, at_row));
        if (Gated) second.load(place(held, at_row) + 32);
        to.store(first, second, row + at_row, col + thread % kLanes * 8);
      }
    }
    if (nth % 2 != 0) meet();  // the next sums are put where these are read
  }
};

}  // namespace diecast

#endif
