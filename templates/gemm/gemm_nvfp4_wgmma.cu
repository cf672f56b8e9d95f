// gemm_nvfp4_wgmma: gemm_nvfp4 on Hopper, with the same bits, of two operands that unpack_product has unpacked.
// A thread block makes tiles of 128 rows by 128 columns of out. One thread brings tiles of both operands, 64 of the depth at a
// time, into a ring in shared memory; two warpgroups have 64 rows each.
/* diecast
option   type  OUT {bf16, f16, f32}                      // element type of out
use      <diecast/device/gemm/finished.h>                // A_ROW_SCALE, B_ROW_SCALE, BIAS, BIAS_TYPE, ACCUMULATE
use      <diecast/device/gemm/number_tiles.h>            // TILE_BYTES
let      STAGES     = 5                                  // of the ring
let      RING       = STAGES * 2 * TILE_BYTES
let      HELD_BYTES = 8 * 16 * 72 * 4                    // of sums on their way to out
size     rows
size     cols
size     depth  divisible 16
arg      numbers in   u8   [(ceil_div(rows, 128) + ceil_div(cols, 128)) * ceil_div(depth, 64), TILE_BYTES]  align 128
arg      a_amax in    f32  [A_ROW_SCALE ? rows : 1]
arg      b_amax in    f32  [B_ROW_SCALE ? cols : 1]
arg      bias   in    BIAS_TYPE  [BIAS ? 1 : 0, cols]
arg      out    inout OUT  [rows, cols]
arg      rows
arg      cols
arg      depth
arg      alpha  f32
arg      unit   f32                                      // 1 / (6 * bound of a * 6 * bound of b)
launch   grid(min(ceil_div(rows, 128) * ceil_div(cols, 128), sm_count)) block(384) resident(1)
launch   shared(RING + HELD_BYTES + 16 * STAGES)
target   sm_90a
exchange block
sample   rows {1, 130, 600}  cols {1, 40, 300}  depth {64}
*/
#include <diecast/device/gemm/number_tiles.h>
#include <diecast/device/gemm/product_target.h>
#include <diecast/device/gemm/wgmma_block_sums.h>
#include <diecast/device/linear/linear_work.h>
#include <diecast/device/linear/wgmma_ring.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/numbers/eight.h>

using Target = ProductTarget<A_ROW_SCALE, B_ROW_SCALE, BIAS, ACCUMULATE, OUT, BIAS_TYPE>;

constexpr u32 kSide = NumberTiles::kRows;
constexpr int kPitch = 72;  // floats from a row of 64 sums to the next: a warp's stores meet in no bank

// What the ring has as x is a, and as weights b.
using Ring = WgmmaRing<kSide, STAGES, TILE_BYTES / 2, HELD_BYTES, 1>;
using Stage = Ring::Stage;

// The tiles of out that this thread block makes.
struct Work {
  u32 row_tiles, col_tiles, depth_tiles;

  DIECAST_DEVICE Work(i64 rows, i64 cols, i64 depth)
      : row_tiles(static_cast<u32>(ceil_div(rows, kSide))),
        col_tiles(static_cast<u32>(ceil_div(cols, kSide))),
        depth_tiles(static_cast<u32>(ceil_div(depth, NumberTiles::kDepth))) {}

  // In bands of 2048 rows of out.
  template <class Make>
  DIECAST_DEVICE void for_each_tile(const Make& make) const {
    for (u32 index = blockIdx.x; index < row_tiles * col_tiles; index += gridDim.x) {
      const auto tile = TileOfOut::in_bands<2048 / kSide>(index, row_tiles, col_tiles);
      make(tile.row, tile.col);
    }
  }
};

// One thread fills the ring.
DIECAST_DEVICE void fill(const Ring& ring, const Work& work, const u8* numbers) {
  const u64 line = u64{work.depth_tiles} * TILE_BYTES;  // bytes of 128 rows
  Stage at;
  work.for_each_tile([&](u32 row, u32 col) DIECAST_INLINED {
    const u8 *a = numbers + row * line, *b = numbers + (work.row_tiles + col) * line;
    for (u32 depth = 0; depth < work.depth_tiles; ++depth, at.next()) {
      wait_for_phase(ring.empty(at), at.parity ^ 1);
      arrive_and_expect(ring.full(at), 2 * TILE_BYTES);
      copy_bulk(ring.x(at), a, TILE_BYTES, ring.full(at));
      copy_bulk(ring.weights(at), b, TILE_BYTES, ring.full(at));
      a += TILE_BYTES, b += TILE_BYTES;
    }
  });
}

// A thread of the two warpgroups.
struct Consumer {
  WgmmaBlockSums sums;
  Ring ring;
  u32 group = __shfl_sync(~0u, threadIdx.x / 128, 0), lane = threadIdx.x % 32;
  Stage at;

  DIECAST_DEVICE explicit Consumer(const Ring& of) : ring(of) {}

  // A warp is done with a stage.
  DIECAST_DEVICE void leave(u32 empty) const {
    if (lane == 0) arrive(empty);
  }

  // Adds the products of the depth. While those of a block run, those of the block before are added.
  DIECAST_DEVICE void multiply(u32 tiles) {
    sums.begin();
    u32 before = 0;
    DIECAST_NO_UNROLL
    for (u32 tile = 0; tile < tiles; ++tile) {
      wait_for_phase(ring.full(at), at.parity);
      const u64 a = sums.place_of(ring.x(at) + group * (TILE_BYTES / 2)), b = sums.place_of(ring.weights(at));
      sums.step<false>(a, b);  // adds the last block of the tile before; at first of none
      if (tile > 0) leave(before);
      sums.step<true>(a + 2, b + 2);
      sums.step<false>(a + 4, b + 4);
      sums.step<true>(a + 6, b + 6);
      before = ring.empty(at);
      at.next();
    }
    sums.wait<0>();
    sums.add<true>();
    if (tiles > 0) leave(before);
  }
};

// Stores eight columns of a row, whose sums lie side by side in shared memory. `whole`: all eight are there, and begin at a
// multiple of 16 bytes in out.
DIECAST_DEVICE void store_eight(const Target& to, bool whole, u32 sums, int row, int col) {
  if (row >= to.rows || col >= to.cols) return;
  OUT* const place = to.out + row * to.stride + col;
  const i64 count = whole ? 8 : to.cols - col;
  Eight<OUT> before, made;
  if (ACCUMULATE && whole) before.load<true>(place, 8);
  if (ACCUMULATE && !whole) before.load<false>(place, count);
  const Vector<16> pieces[] = {load_shared<16>(sums), load_shared<16>(sums + 16)};
  DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) {
    if (i >= count) break;
    const OUT one = to.of(__uint_as_float(pieces[i / 4].words[i % 4]), row, col + i, before.element(i));
    made.words[i / made.kPerWord] |= to_bits(one) << (i % made.kPerWord * bits<OUT>());
  }
  if (whole) {
    made.store<true>(place, 8);
  } else {
    made.store<false>(place, count);
  }
}

// A warp's 16 rows go through shared memory, 64 columns at a time, so that lanes store neighbours.
DIECAST_DEVICE void finish(const Consumer& of, const Target& to, bool whole) {
  const u32 warp = threadIdx.x / 32;
  const u32 mine = of.ring.held() + warp * (16 * kPitch * 4), place = mine + (of.lane / 4 * kPitch + of.lane % 4 * 2) * 4;
  DIECAST_NO_UNROLL
  for (int first = 0; first < 128; first += 64) {
    __syncwarp();
    if (first == 0) {
      of.sums.put<kPitch, 0>(place);
    } else {
      of.sums.put<kPitch, 64>(place);
    }
    __syncwarp();
    DIECAST_NO_UNROLL
    for (u32 row = of.lane / 8; row < 16; row += 4) {
      const u32 col = of.lane % 8 * 8;
      store_eight(to, whole, mine + (row * kPitch + col) * 4, static_cast<int>(warp * 16 + row), first + static_cast<int>(col));
    }
  }
}

DIECAST_KERNEL {
  const Ring ring{shared_address(dynamic_shared<u8>())};
  if (threadIdx.x == 0) ring.make_barriers();
  __syncthreads();
  const Work work(rows, cols, depth);
  if (threadIdx.x >= 256) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 256) fill(ring, work, numbers);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const f32 factor = A_ROW_SCALE || B_ROW_SCALE ? alpha * unit : ((alpha * *b_amax) * *a_amax) * unit;
    const bool once = !A_ROW_SCALE || !B_ROW_SCALE || rows == 1 || cols == 1;
    const bool whole = ((reinterpret_cast<u64>(out) | static_cast<u64>(cols) * sizeof(OUT)) & 15) == 0 && cols % 8 == 0;
    Consumer of(ring);
    work.for_each_tile([&](u32 row_tile, u32 col_tile) DIECAST_INLINED {
      const i64 row = i64{row_tile} * kSide, col = i64{col_tile} * kSide;
      of.multiply(work.depth_tiles);
      finish(of, {out + row * cols + col, cols, rows - row, cols - col, a_amax + (A_ROW_SCALE ? row : 0),
                  b_amax + (B_ROW_SCALE ? col : 0), bias + (BIAS ? col : 0), factor, once}, whole);
    });
  }
}
