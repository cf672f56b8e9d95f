// gemm_nvfp4: out [rows, cols] = a [rows, depth] times the transpose of b [cols, depth], both NVFP4.
// The order, the same for every tune and target: blocks of 16 along depth, ascending; each block's
// sum of 16 products and its product with both block scales are exact, and so added to an f32 with one
// rounding a block. Then, one rounding each: times ((alpha * b_amax) * a_amax) * unit, then plus bias,
// then to OUT, then added to what is there (ACCUMULATE).
// A_ROW_SCALE, B_ROW_SCALE: an amax has an entry a row (of a: of out's rows; of b: of its columns). Then the sum
// is multiplied by (alpha * unit), by a_amax and by b_amax, in this order; where one of the two has a
// single entry, by their product instead.
// GROUPED: member i of a's group times member i of b's; members of a without rows give nothing. COLUMNWISE_OF:
// which operands' columnwise sides are read. Of both, the members' rows are the depth, out has a matrix
// [member_rows, cols] a member, and one without rows gives that of no products.
/* diecast
shape    bool  GROUPED       = false                     // operands are the members of two groups, see above
shape    enum  COLUMNWISE_OF {none, b, both} = none      // members' sides that are columnwise: layouts TN, NN, NT
shape    bool  ALIGNED       = true                      // rows of codes start at multiples of 16 bytes, not of 8
option   type  OUT           {bf16, f16, f32}            // element type of out
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
use      <diecast/device/gemm/finished.h>                // A_ROW_SCALE, B_ROW_SCALE, BIAS, BIAS_TYPE, ACCUMULATE
tune     enum  MATH          {f16, s8, dp4a} = f16       // tensor cores on f16 or on bytes, or dot products of bytes
tune     int   M_TILE        {64, 128} = 128             // rows of out that a thread block makes
tune     int   N_TILE        {64, 128} = 128             // columns of them
let      A_COLUMNWISE = COLUMNWISE_OF == both
let      B_COLUMNWISE = COLUMNWISE_OF != none
let      HALVES    = MATH == f16 && !host                // a tile is unpacked to 16 bits an element, not to bytes
size     rows
size     cols
size     depth  divisible (ALIGNED ? 32 : 16)
size     count                                           // members; 0 unless GROUPED
size     member_rows                                     // of out, where COLUMNWISE_OF are both; else 0
arg      a_codes  in    u8    [GROUPED ? 0 : rows, depth / 2]  align (ALIGNED ? 16 : 8)
arg      a_scales in    e4m3  [GROUPED ? 0 : align_up(rows, SCALE_ROWS), align_up(depth / 16, SCALE_COLS)]  stride (LINEAR)
arg      a_amax   in    f32   [GROUPED ? 0 : A_ROW_SCALE ? rows : 1]
arg      b_codes  in    u8    [GROUPED ? 0 : cols, depth / 2]  align (ALIGNED ? 16 : 8)
arg      b_scales in    e4m3  [GROUPED ? 0 : align_up(cols, SCALE_ROWS), align_up(depth / 16, SCALE_COLS)]  stride (LINEAR)
arg      b_amax   in    f32   [GROUPED ? 0 : B_ROW_SCALE ? cols : 1]
arg      bias     in    BIAS_TYPE  [BIAS ? max(count, 1) : 0, cols]
arg      out      inout OUT   [rows, cols]
arg      a_members in   u8    [GROUPED ? count : 0, 96]  align 16
arg      b_members in   u8    [GROUPED ? count : 0, 96]  align 16
arg      rows
arg      cols
arg      depth
arg      count
arg      member_rows
arg      alpha    f32
arg      unit     f32                                    // 1 / (6 * bound of a * 6 * bound of b)
require  MATH != dp4a || (M_TILE == 64 && N_TILE == 64)  // each sum of a thread is code of its own: larger tiles compile too long
require  GROUPED || !B_COLUMNWISE                        // of one matrix a side is an operand like any other
require  !B_COLUMNWISE || !B_ROW_SCALE                   // rows of b are not what its columns are scaled by
require  !A_COLUMNWISE || !A_ROW_SCALE                   // nor those of a
launch   grid((ceil_div(rows, M_TILE) + count) * ceil_div(cols, N_TILE)) block(256)
launch   resident((HALVES || (MATH == s8 && M_TILE == 64 && !host)) && cc < 100 ? 2 : 1)
launch   shared(2 * (M_TILE + N_TILE) * (HALVES ? 128 : 80))
exchange block                                           // a tile's codes are unpacked once for all its threads
sample   rows {0, 1, 17, 130}  cols {1, 40, 300}  depth {0}  count {0}  member_rows {0}
*/
#include <diecast/device/gemm/gemm_tensor_sums.h>
#include <diecast/device/gemm/gemm_tile.h>
#include <diecast/device/gemm/product_target.h>
#include <diecast/device/groups/group.h>

using Layout = ScaleLayout<LAYOUT>;
using Sums = GemmSums<MATH, M_TILE, N_TILE>;
using Stage = Sums::Stage;

constexpr int kBlocks = Stage::kBlocks, kWarpCols = Sums::kWarpCols;
constexpr int kPitch = kWarpCols + 8;  // floats of a row of sums: no two rows in one bank

// Two neighbouring blocks of an operand's row in every stage, on their way from memory to a stage. All
// threads have the pointers, each its own offsets: 32 bits, as rows have no more than 2^23 bytes.
struct Piece {
  const u8* codes;
  const e4m3* scales;
  u32 at_codes, at_scales;
  u32 words[4];
  u8 of_first, of_second;  // scales: not put together before they are needed, which would wait for them

  // Rows behind the last are the last one again: nobody looks at what becomes of them.
  DIECAST_DEVICE Piece(const MemberSide& side, i64 first_row, i64 rows, int row, int block, i64 depth) {
    const i64 pitch = LINEAR ? side.scale_stride : Layout::padded_cols(depth / 16);
    const i64 tile = LINEAR ? first_row : first_row & -128;
    row = static_cast<int>(min(i64{row}, rows - 1 - first_row));
    codes = reinterpret_cast<const u8*>(side.data) + first_row * (depth / 2);
    scales = reinterpret_cast<const e4m3*>(side.scale) + tile * pitch;
    at_codes = static_cast<u32>(row) * static_cast<u32>(depth / 2) + 8 * block;
    at_scales = static_cast<u32>(Layout::offset(first_row - tile + row, block, pitch));
  }
  // `left`: blocks from this piece's first to the end of the row.
  DIECAST_DEVICE void load_next(int left) {
    Vector<8> low{}, high{};
    if constexpr (ALIGNED) {
      Vector<16> both{};
      if (left > 0) both = load<16>(codes + at_codes);
      low = {{both.words[0], both.words[1]}}, high = {{both.words[2], both.words[3]}};
    } else {
      if (left > 0) low = load<8>(codes + at_codes);
      if (left > 1) high = load<8>(codes + at_codes + 8);
    }
    words[0] = low.words[0], words[1] = low.words[1], words[2] = high.words[0], words[3] = high.words[1];
    const e4m3* pair = scales + at_scales;
    of_first = left > 0 ? pair[0].bits : 0;
    of_second = left > 1 ? pair[1].bits : 0;
    codes += kBlocks * 8;
    scales += LINEAR ? kBlocks : kBlocks * Layout::kTileRows;
  }
  DIECAST_DEVICE void unpack_bytes(const Stage& to, int row, int block) const {
    DIECAST_UNROLL
    for (int i = 0; i < 2; ++i) {
      store_doubled_codes(to.codes + Stage::place(row, block + i), words[2 * i], words[2 * i + 1]);
      to.scales[(block + i) * Stage::kRows + row] = f32_from_e4m3({i == 0 ? of_first : of_second});
    }
  }
  DIECAST_DEVICE void unpack(const Stage& to, int row, int block) const {
#if DIECAST_HOST
    unpack_bytes(to, row, block);
#else
    if constexpr (Stage::kHalves) {
      store_scaled_codes(shared_address(to.codes + Stage::place(row, 2 * block)), words, of_first | u32{of_second} << 16);
    } else {
      unpack_bytes(to, row, block);
    }
#endif
  }
};

using Target = ProductTarget<A_ROW_SCALE, B_ROW_SCALE, BIAS, ACCUMULATE, OUT, BIAS_TYPE>;

// 16 rows of a warp at a time go through shared memory, so that lanes store neighbours.
DIECAST_DEVICE void finish(const Sums& sums, const Target& to) {
  f32* mine = dynamic_shared<f32>() + threadIdx.x / 32 * (16 * kPitch);
  DIECAST_NO_UNROLL
  for (int at = 0; at < Sums::kM; ++at) {
    __syncwarp();
    sums.template put<kPitch>(at, mine);
    __syncwarp();
    DIECAST_NO_UNROLL
    for (int i = sums.lane; i < 16 * kWarpCols; i += 32) {
      const int row = i / kWarpCols, col = i % kWarpCols;
      // The product with kUnit is exact.
      to.store(mine[row * kPitch + col] * Sums::kUnit, sums.row + 16 * at + row, sums.col + col);
    }
  }
}

// What the product reads of a member.
struct Operand {
  const MemberSide& side;
  i64 rows, depth;
};

// Of `rows` rows where columns are read, else of its own: then their length is the `depth`, else whole
// blocks of its rows are.
template <bool Columns>
DIECAST_DEVICE Operand operand(const Member& of, i64 rows, i64 depth) {
  if constexpr (Columns)
    return {of.columnwise, rows, A_COLUMNWISE ? align_up(of.rows, 16) : depth};
  else
    return {of.rowwise, of.rows, depth};
}

// Adds the products of a tile: `a` and `b` give their rows from these on.
DIECAST_DEVICE void multiply(Sums& sums, const Operand& a, i64 a_row, const Operand& b, i64 b_row) {
  const i64 depth = A_COLUMNWISE ? min(a.depth, b.depth) : a.depth;
  const int row = threadIdx.x / 2, block = threadIdx.x % 2 * 2, blocks = static_cast<int>(depth / 16);
  Piece of_a(a.side, a_row, a.rows, row, block, a.depth), of_b(b.side, b_row, b.rows, row, block, b.depth);
  int stage = -1;  // the first time only loads
  DIECAST_NO_UNROLL
  for (int left = blocks; left > -kBlocks; left -= kBlocks) {  // blocks that are not loaded yet
    if (stage >= 0) {
      if (M_TILE == 128 || row < M_TILE) of_a.unpack(Stage(stage), row, block);
      if (N_TILE == 128 || row < N_TILE) of_b.unpack(Stage(stage), M_TILE + row, block);
      __syncthreads();  // also: all are done with the stage before this one, which is filled next
    }
    if (M_TILE == 128 || row < M_TILE) of_a.load_next(left - block);
    if (N_TILE == 128 || row < N_TILE) of_b.load_next(left - block);
    if (stage < 0) {
      stage = 0;
      continue;
    }
    DIECAST_NO_UNROLL
    for (int i = 0; i < kBlocks; ++i) sums.add(Stage(stage), i);
    stage ^= 1;
  }
  __syncthreads();
}

// Goes to the tile of the walk's index, or gives false where there is none.
DIECAST_DEVICE bool find(GroupWalk<GROUPED>& at, i64 member_rows, u32 row_tiles) {
  if constexpr (A_COLUMNWISE) {  // every member has as many
    const u32 column_tiles = static_cast<u32>(ceil_div(member_rows, M_TILE));
    const u32 line = static_cast<u32>(at.index) / row_tiles;
    at.piece = static_cast<u32>(at.index) - line * row_tiles;
    at.place.member = column_tiles == 0 ? static_cast<u32>(at.count) : line / column_tiles;
    at.row = line - at.place.member * column_tiles;
    return at.place.member < at.count;
  } else {
    return at.find<M_TILE>(row_tiles);
  }
}

DIECAST_KERNEL {
  const auto* of_a = reinterpret_cast<const Member*>(a_members);
  const auto* of_b = reinterpret_cast<const Member*>(b_members);
  const u32 row_tiles = static_cast<u32>(ceil_div(cols, N_TILE));
  const GroupWalk<GROUPED> begin{of_a, count, rows, blockIdx.x, gridDim.x};
  const Member whole_a = {0, 0, rows, 0, side_of(a_codes, a_scales, a_amax, a_scales_stride), {}};
  const Member whole_b = {0, 0, cols, 0, side_of(b_codes, b_scales, b_amax, b_scales_stride), {}};
  Sums sums;
  {
    GroupWalk<GROUPED> at = begin;
    if (!find(at, member_rows, row_tiles)) return;
    multiply(sums, operand<A_COLUMNWISE>(GROUPED ? of_a[at.place.member] : whole_a, member_rows, depth), i64{at.row} * M_TILE,
             operand<B_COLUMNWISE>(GROUPED ? of_b[at.place.member] : whole_b, cols, depth), i64{at.piece} * N_TILE);
  }
  GroupWalk<GROUPED> at = begin;  // anew: its numbers would have stood in registers all the while
  find(at, member_rows, row_tiles);
  const i64 row = i64{at.row} * M_TILE, col = i64{at.piece} * N_TILE;
  const Member& a = GROUPED ? of_a[at.place.member] : whole_a;
  const Member& b = GROUPED ? of_b[at.place.member] : whole_b;
  const i64 first = A_COLUMNWISE ? i64{at.place.member} * member_rows : a.row_begin;
  const i64 a_rows = A_COLUMNWISE ? member_rows : a.rows;
  const auto* of_rows = reinterpret_cast<const f32*>(A_COLUMNWISE ? a.columnwise.amax : a.rowwise.amax);
  const auto* of_cols = reinterpret_cast<const f32*>(B_COLUMNWISE ? b.columnwise.amax : b.rowwise.amax);
  const f32 factor = A_ROW_SCALE || B_ROW_SCALE ? alpha * unit : ((alpha * *of_cols) * *of_rows) * unit;
  const bool once = !A_ROW_SCALE || !B_ROW_SCALE || a_rows == 1 || cols == 1;
  finish(sums, {out + (first + row) * cols + col, cols, a_rows - row, cols - col, of_rows + (A_ROW_SCALE ? row : 0),
                of_cols + (B_ROW_SCALE ? col : 0), bias + (BIAS ? i64{at.place.member} * cols + col : 0), factor, once});
}
