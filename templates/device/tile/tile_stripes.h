// A tile of 128 x 256 elements of 16 bits, quantized along its rows and its columns by warps that take a stripe each,
// the blocks as they mostly are (ordinary_codes.h). Codes of rows are written as lines of memory, those of columns
// and all scales once the whole tile is done.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/ordinary_codes.h>
#include <diecast/device/threads/cluster.h>
#include <diecast/device/tile/stripe16x256.h>
#include <diecast/device/tile/tile_output.h>
#include <diecast/device/tile/tile_scales.h>

namespace diecast {

// The place of a tile, one of `rows` x `cols`, that row by row would be at (row, col). Tiles are taken in bands of four or eight, one
// below the other before those to their right: lines of columns' codes, of which each has a half, and sectors of scales, of which
// each has a quarter, are whole in the second-level cache before they leave it. A band is about as many as a GPU takes at a time;
// what is left below the last whole one is taken row by row. True in a whole band, where two that follow each other, from an even one
// on, are one below the other.
DIECAST_DEVICE bool in_bands(u32& row, u32& col, u32 rows, u32 cols) {
  const u32 shift = cols > 32 ? 2 : 3, first = row >> shift << shift, nth = (row - first) * cols + col;
  if ((rows - first) >> shift == 0) return false;
  row = first + (nth & ((1u << shift) - 1)), col = nth >> shift;
  return true;
}

// Codes of all columns of a tile, whose stripes lie behind one another, to where they belong: neighbouring threads
// neighbouring blocks of a line, two each. All `Threads` of the thread block.
template <class Stripe, int Threads, class Output>
DIECAST_DEVICE void write_columns(const Output& out, SharedPlace stripes) {
  constexpr u32 kPairs = kStripes / 2;
  static_assert(64 * kPairs % Threads == 0);
  const u32 thread = held_thread();
  const u32 block = thread % kPairs * 2;
  const int has = min(out.blocks - static_cast<int>(block), 2), both = out.takes_two_codes() ? 2 : 3;
  const Stripe stripe{stripes + block * Stripe::kBytes, block};
  DIECAST_NO_UNROLL
  for (u32 n = 0; n < 64 * kPairs / Threads; ++n) {
    const u32 first = thread / kPairs + n * (Threads / kPairs);
    SharedPlace from = held(stripe.codes(first));
    u8* to = out.codes + 8 * out.index(first, block);
    DIECAST_NO_UNROLL
    for (int left = out.lines - static_cast<int>(first); left > 0; left -= 64) {
      const Vector<8> codes = load_shared<8>(from), next = load_shared<8>(from + Stripe::kBytes);
      if (has == both) {
        store_streaming<16>(to, Vector<16>{{codes.words[0], codes.words[1], next.words[0], next.words[1]}});
      } else {
        if (has > 0) store_streaming<8>(to, codes);
        if (has > 1) store_streaming<8>(to + 8, next);
      }
      from = Stripe::to_right(from);
      to += 8 * out.index(64, 0);
    }
  }
}

// Where a lane's scales along rows go, in every second row: linear ones where they belong, 16 neighbours of a row by as many
// lanes at once; others to `staged`, until all are written.
template <class Output, class Staged>
struct ScalesOfRows {
  static constexpr bool kStaged = Output::kLayout != LAYOUT_linear;
  e4m3* to;
  i64 step;

  DIECAST_DEVICE ScalesOfRows(const Output& out, Staged& staged, int line, int block)
      : to(kStaged ? staged.at(line, block) : out.scales + line * out.pitch + block),
        step(kStaged ? 2 * Staged::kPitch : 2 * out.pitch) {}
  // `there`: the matrix has that block.
  DIECAST_DEVICE void store(u32 scale, bool there) const {
#if !DIECAST_HOST
    if constexpr (!kStaged) {  // no jump
      asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p st.global.u8 [%0], %1;\n}" ::"l"(to), "r"(scale), "r"(u32{there})
                   : "memory");
      return;
    }
#endif
    if (kStaged || there) *to = {static_cast<u8>(scale)};
  }
  DIECAST_DEVICE void next() { to += step; }
};

// All `Threads` of the thread block, which has a tile's stripes of dynamic shared memory. The matrix has the tile
// at `x`, rows `stride` bytes apart; `cluster_blocks` is write_scales_of_cluster()'s. find(), once by all threads, makes the global scales
// while copies are on their way; seldom(block, global) is what becomes of a block that is not ordinary.
template <class IN, int Threads, int Cluster, class Output, class ScalesAcross, class ScalesDown, class Global, class Find,
          class Seldom>
DIECAST_DEVICE void quantize_stripes(const void* x, i64 stride, const Output& across, const Output& down,
                                     ScalesAcross& scales_across, ScalesDown& scales_down, const Global& of_rows,
                                     const Global& of_columns, const Find& find, const Seldom& seldom, int cluster_blocks) {
  using Stripe = Stripe16x256<IN>;
  const SharedPlace stripes = shared_place(dynamic_shared<u8>());
  const int lane = threadIdx.x % 32;
  DIECAST_NO_UNROLL
  for (int i = threadIdx.x / 32; i < kStripes; i += Threads / 32) {  // as often for all warps
    const Stripe stripe{stripes + i * Stripe::kBytes, static_cast<u32>(i)};
    const bool has = 16 * i < across.padded_lines;
    if (has)
      stripe.begin(static_cast<const u8*>(x) + 16 * i * stride + 16 * lane, stride, across.lines - 16 * i, 8 * lane < down.lines);
    if (i < Threads / 32) find();
    if (!has) continue;
    stripe.wait();
    const int first = 16 * i + lane / 16, lines = lane % 16 < across.blocks ? across.lines - first : 0;
    u8* const codes_to = held(across.codes + 8 * across.index(first, lane % 16));
    ScalesOfRows<Output, ScalesAcross> scales_to(across, scales_across, first, lane % 16);
    SharedPlace at = stripe.across();
    DIECAST_NO_UNROLL
    for (int row = 0; row < 16; row += 2, scales_to.next()) {
      const Block16<IN> block = Stripe::read_across(at);
      const typename Global::Scale by(amax_with_nan(block), of_rows);
      u32 codes[2];
      scales_to.store(by.number(), row < lines);
      if (by.is_ordinary) {
        find_codes(block, by, codes);
      } else {
        const Nvfp4Block out = seldom(block, of_rows);
        codes[0] = out.codes[0], codes[1] = out.codes[1];
        scales_to.store(out.scale.bits, row < lines);
      }
      if (row < lines) store_streaming<8>(codes_to + 8 * across.index(row, 0), Vector<8>{{codes[0], codes[1]}});
    }
    e4m3* scale_to = scales_down.at(2 * lane, i);
    at = stripe.down();
    SharedPlace to = stripe.codes_down();
    DIECAST_NO_UNROLL
    for (int part = 0; part < Stripe::kParts; ++part, scale_to += 64 * ScalesDown::kPitch) {
      TwoColumns<IN> two;
      Stripe::read_down(at, two.words);
      f32 amax[2];
      two.find_amax(amax);
      const typename Global::Scale by(amax[0], of_columns), other(amax[1], of_columns);
      u32 codes[2], other_codes[2];
      *scale_to = by.scale, scale_to[ScalesDown::kPitch] = other.scale;
      if (by.is_ordinary && other.is_ordinary) {
        two.codes_under(by, other, codes, other_codes);
      } else {
        const Nvfp4Block out = seldom(two.block(0), of_columns), other_out = seldom(two.block(1), of_columns);
        codes[0] = out.codes[0], codes[1] = out.codes[1], *scale_to = out.scale;
        other_codes[0] = other_out.codes[0], other_codes[1] = other_out.codes[1], scale_to[ScalesDown::kPitch] = other_out.scale;
      }
      Stripe::write_down(to, {{codes[0], codes[1], other_codes[0], other_codes[1]}});
    }
  }
  cluster_barrier<Cluster>();
  write_columns<Stripe, Threads>(down, stripes);
  if constexpr (Cluster > 1) {
    write_scales_of_cluster<Threads, Cluster>(down, scales_down, cluster_blocks);
  } else if constexpr (ScalesOfRows<Output, ScalesAcross>::kStaged) {
    write_scales<Threads>(across, down, scales_across, scales_down);
  } else {
    write_scales<Threads>(down, scales_down);
  }
  cluster_barrier<Cluster>();
}

}  // namespace diecast
