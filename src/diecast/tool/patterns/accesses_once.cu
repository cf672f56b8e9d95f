// accesses_once: the loads, stores and threads of quantizing a matrix whose blocks of 16 neighbouring
// threads take together, each once, without the arithmetic: all of them load the whole block and a word
// that is the same for all, and write a share of the xor of that.
/* diecast
tune     int   LANES   {2, 4} = 2                        // neighbours that take a block together
tune     int   THREADS {128, 256} = 128
size     pieces                                          // blocks of 16 elements of 2 bytes
arg      from      in   u8   [pieces * 32]  align 16
arg      to        out  u8   [pieces * 8]  align 8
arg      to_scales out  u8   [pieces]
arg      word      in   u32  [1]
arg      pieces
launch   grid(ceil_div(pieces * LANES, THREADS)) block(THREADS) dependent
target   sm_80+
exchange none
sample   pieces {0, 1, 1000}
*/
#include <diecast/device/dependent.h>
#include <diecast/device/vector.h>

DIECAST_KERNEL {
  const i64 piece = i64{blockIdx.x} * (THREADS / LANES) + threadIdx.x / LANES;
  if (piece >= pieces) return;
  const u32 of_all = *word, lane = threadIdx.x % LANES;
  const Vector<16> first = load<16>(from + 32 * piece), second = load<16>(from + 32 * piece + 16);
  f32 found = __uint_as_float(of_all ^ first.words[0] ^ first.words[1] ^ first.words[2] ^ first.words[3]);
  next_may_begin(found);
  const u32 low = __float_as_uint(found);
  const u32 high = second.words[0] ^ second.words[1] ^ second.words[2] ^ second.words[3];
  u8* const at = to + 8 * piece + lane * (8 / LANES);
  if constexpr (LANES == 2) {
    store_streaming<4>(at, {{low ^ high}});
  } else {
    *reinterpret_cast<u16*>(at) = static_cast<u16>(low ^ high);
  }
  if (lane == 0) to_scales[piece] = static_cast<u8>(low);
}
