// tensor_widths: d = c + a times the transpose of b, in chains of products of 16 on tensor cores: by mma.sync, or by
// wgmma on WIDTH columns at a time. A chain's bits may depend on neither (tensor_widths_gpu_test.cpp).
/* diecast
option   int   WIDTH {0, 8, 16, 32, 64, 128, 256} = 0     // columns of one wgmma; 0: mma.sync on 8
option   int   STEPS {1, 4} = 4                           // products of 16 in a chain
size     tiles
arg      a  in   bf16 [tiles, 64 * 16 * STEPS]   align 16
arg      b  in   bf16 [tiles, 256 * 16 * STEPS]  align 16
arg      c  in   f32  [tiles, 64 * 256]
arg      d  out  f32  [tiles, 64 * 256]
arg      tiles
launch   grid(tiles) block(128) shared(256 * 16 * STEPS * 2)
target   sm_90a
exchange none
sample   tiles {0, 2}
*/
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/memory/vector.h>

// The numbers and names of `count` sums from the first one on.
#define TENS(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define NAMES_4() "%0, %1, %2, %3"
#define NAMES_8() NAMES_4() ", %4, %5, %6, %7"
#define NAMES_16() TENS() "%10, %11, %12, %13, %14, %15"
#define NAMES_32() TENS() TENS(1) TENS(2) "%30, %31"
#define NAMES_64() TENS() TENS(1) TENS(2) TENS(3) TENS(4) TENS(5) "%60, %61, %62, %63"
#define NAMES_128()                                                                         \
  TENS() TENS(1) TENS(2) TENS(3) TENS(4) TENS(5) TENS(6) TENS(7) TENS(8) TENS(9) TENS(10) \
  TENS(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SUMS_8(i) SUMS_4(i), SUMS_4(i + 4)
#define SUMS_16(i) SUMS_8(i), SUMS_8(i + 8)
#define SUMS_32(i) SUMS_16(i), SUMS_16(i + 16)
#define SUMS_64(i) SUMS_32(i), SUMS_32(i + 32)
#define SUMS_128(i) SUMS_64(i), SUMS_64(i + 64)
#define MULTIPLY(width, count, a0, a1, a2, a3, place)                                                            \
  if constexpr (WIDTH == width) {                                                                                \
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\nwgmma.mma_async.sync.aligned.m64n" #width          \
                 "k16.f32.bf16.bf16 {" NAMES_##count() "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #place   \
                 ", add, 1, 1, 0;\n}"                                                                            \
                 : SUMS_##count(0)                                                                               \
                 : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]), "l"(of_b));                           \
  }

// b in shared memory: pieces of 8 columns and 8 of the depth, 16 bytes a column; along the depth they follow each other.
constexpr u32 kPieceBytes = 128, kColumnsBytes = 2 * STEPS * kPieceBytes;

DIECAST_KERNEL {
  constexpr int kDepth = 16 * STEPS, kColumns = WIDTH == 0 ? 8 : WIDTH;
  const u32 thread = threadIdx.x, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
  const u64 tile = blockIdx.x;
  u8* const shared = dynamic_shared<u8>();
  for (u32 i = thread; i < 256 * kDepth / 8; i += 128) {
    const u32 column = i / (kDepth / 8), piece = i % (kDepth / 8);
    store_shared(shared_place(shared) + column / 8 * kColumnsBytes + piece * kPieceBytes + column % 8 * 16,
              load<16>(b + (tile * 256 + column) * kDepth + piece * 8));
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const bf16* const rows = a + (tile * 64 + row) * kDepth + lane % 4 * 2;
  const u64 first = (tile * 64 + row) * 256 + lane % 4 * 2;
  for (u32 column = 0; column < 256; column += kColumns) {
    f32 sums[kColumns / 2];
DIECAST_UNROLL
    for (u32 i = 0; i < kColumns / 2; ++i) sums[i] = c[first + i % 4 / 2 * (8 * 256) + column + i / 4 * 8 + i % 2];
DIECAST_UNROLL
    for (u32 step = 0; step < STEPS; ++step) {
      u32 of_a[4];
DIECAST_UNROLL
      for (u32 i = 0; i < 4; ++i) of_a[i] = load<4>(rows + i % 2 * (8 * kDepth) + step * 16 + i / 2 * 8).words[0];
      const u32 at = shared_address(shared) + column / 8 * kColumnsBytes + 2 * step * kPieceBytes;
      if constexpr (WIDTH == 0) {
        const u32 place = at + lane / 4 * 16 + lane % 4 * 4;
        const u32 low = load_shared<4>(place).words[0], high = load_shared<4>(place + kPieceBytes).words[0];
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : SUMS_4(0)
            : "r"(of_a[0]), "r"(of_a[1]), "r"(of_a[2]), "r"(of_a[3]), "r"(low), "r"(high));
      } else {
        // Units of 16 bytes: where it lies, the next piece along the depth, the next along the columns.
        const u64 of_b = at / 16 | u64{kPieceBytes / 16} << 16 | u64{kColumnsBytes / 16} << 32;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        MULTIPLY(8, 4, 4, 5, 6, 7, 8)
        MULTIPLY(16, 8, 8, 9, 10, 11, 12)
        MULTIPLY(32, 16, 16, 17, 18, 19, 20)
        MULTIPLY(64, 32, 32, 33, 34, 35, 36)
        MULTIPLY(128, 64, 64, 65, 66, 67, 68)
        MULTIPLY(256, 128, 128, 129, 130, 131, 132)
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
      }
    }
DIECAST_UNROLL
    for (u32 i = 0; i < kColumns / 2; ++i) d[first + i % 4 / 2 * (8 * 256) + column + i / 4 * 8 + i % 2] = sums[i];
  }
}
