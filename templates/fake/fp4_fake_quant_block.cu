// fp4_fake_quant_block: dynamic fake quantization of a row-major [rows, cols] matrix as ModelOpt does
// it: every BLOCK neighbours of a row to the nearest E2M1 multiples of a scale that their own amax
// and the tensor's make. A row's last block is padded with zeros.
// ROWS_dense: whole blocks, also of 16, row after row without a gap, from a multiple of 16 bytes on.
// ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {dense, apart, any} = dense       // what is known of the rows, see above
option   type  IN      {bf16, f16, f32}                  // element type of x and out
option   int   BLOCK   {8, 16, 32, 64, 128} = 16         // neighbours that share one scale
option   enum  PROFILE {modelopt} = modelopt             // whose bits; see PROFILES.md
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 192} = 192             // the most thread blocks a multiprocessor gets
let      ALIGN   = ROWS == any ? bits(IN) / 8 : 16       // bytes
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : ROWS == dense ? max(BLOCK, 16) : 16)
arg      x           in   IN   [rows, cols]  stride (ROWS != dense)  align (ALIGN)
arg      global_amax in   f32  [1]                       // of the whole tensor
arg      out         out  IN   [rows, cols]  stride (ROWS != dense)  align (ALIGN)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(rows * ceil_div(cols, BLOCK) * (BLOCK * bits(IN) / 128), THREADS), sm_count * waves)) block(THREADS)
launch   dependent
exchange none                                            // on the host, where a thread takes whole blocks
sample   COLS {0, 80}  rows {0, 1, 7, 33}  cols {1, 16, 17, 80, 128, 2100}
*/
#include <diecast/device/fake/fp4_fake_piece.h>
#include <diecast/device/threads/row_walk.h>

// Of a tensor: a block's scale is its amax over 6 gs, an E4M3 number, times gs.
struct DynamicScale {
  f32 gs, divisor, inverse;

  DIECAST_DEVICE explicit DynamicScale(f32 global) : gs(__fmul_rn(global, 0x1.861862p-12f)) {  // fl(1/2688)
    if (!(gs > 0.0f)) gs = 1e-12f;
    divisor = __fmul_rn(6.0f, gs);
    inverse = 0.0f;
#if !DIECAST_HOST
    if (gs > 0x1p127f) {
      divisor = 0.0f;  // 0 for all amaxes but infinity: so does any by an inverse of 0
    } else {
      inverse = inverse_of(divisor);
    }
#endif
  }

  // 1 where it is below 1e-5, as upstream has it. So it does not matter what a tiny gs makes of the
  // quotient, and a NaN of infinities counts as 448.
  DIECAST_DEVICE f32 of(f32 block_amax) const {
#if DIECAST_HOST
    const f32 wanted = quotient(block_amax, divisor);
#else
    const f32 wanted = quotient_by_inverse(block_amax, divisor, inverse);
#endif
    const f32 p = __fmul_rn(f32_from_block_scale(e4m3_from_f32(fminf(wanted, 448.0f))), gs);
    return p >= 1e-5f ? p : 1.0f;
  }
};

#if DIECAST_HOST

DIECAST_KERNEL {
  const DynamicScale scale(global_amax[0]);
  for (RowWalk at(ceil_div(cols, BLOCK), rows, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS, COLS != 0); at.row < rows;
       at.next()) {
    const i64 first = at.piece * BLOCK, count = min(i64{BLOCK}, cols - first);
    const IN* from = x + at.row * x_stride + first;
    f32 amax = 0.0f;
    for (i64 i = 0; i < count; ++i) amax = fmaxf(amax, fabsf(to_f32(from[i])));
    fp4_fake_each<IN, IN>(from, out + at.row * out_stride + first, count, scale.of(amax));
  }
}

#else

constexpr int kPiece = kFp4Piece<IN, IN>;

// Neighbouring threads share a block, and whole warps walk; a row has pieces for whole blocks. The
// next piece is on its way while one is worked on.
DIECAST_KERNEL {
  const DynamicScale scale(global_amax[0]);
  RowWalk at(ceil_div(cols, BLOCK) * (BLOCK / kPiece), rows, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS, COLS != 0);
  const i64 pieces = rows * at.row_pieces;
  struct Place {
    i64 from, to, count;  // count: at most 0 where nothing is
  };
  const auto place = [&] {
    const i64 first = at.piece * kPiece;
    if constexpr (ROWS == ROWS_dense) {
      return Place{at.index * kPiece, at.index * kPiece, at.index < pieces ? kPiece : 0};
    } else {
      return Place{at.row * x_stride + first, at.row * out_stride + first, at.index < pieces ? cols - first : 0};
    }
  };
  const auto load = [&](const Place& place) {
    Neighbours<IN, kPiece> piece;
    if (place.count > 0) piece.template load<ROWS != ROWS_any>(x + place.from, place.count);
    return piece;
  };
  Place next = place();
  Neighbours<IN, kPiece> coming = load(next);
  DIECAST_NO_UNROLL
  while (at.index - threadIdx.x % 32 < pieces) {
    const Place here = next;
    const Neighbours<IN, kPiece> piece = coming;
    at.next();
    next = place();
    coming = load(next);
    const f32 p = scale.of(amax_of_lanes<BLOCK / kPiece>(piece));
    if (here.count > 0) {
      store_fp4_fake<ROWS != ROWS_any, IN, IN>(piece, x + here.from, out + here.to, here.count, {p, __fmul_rn(p, 6.0f)});
    }
  }
}

#endif
