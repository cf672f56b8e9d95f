// The sums of a warpgroup that multiplies 64 rows of numbers by 128 through wgmma, a block of 16 of the depth at a time: each
// block's products are added to zero, which is exact, and then to the sums with one rounding. Two blocks take turns: while one's
// products run, the other's are added. All are in registers that the assembly names, as those of wgmma_sums.h.
#pragma once

#include <diecast/device/base/numbered.h>
#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

#if DIECAST_CC == 90

namespace diecast {

#define DIECAST_EVEN_NAME(i) ", even" #i
#define DIECAST_ODD_NAME(i) ", odd" #i
#define DIECAST_BLOCK_ZERO(i) "mov.f32 sum" #i ", 0f00000000;\n mov.f32 odd" #i ", 0f00000000;\n"
#define DIECAST_ADD_EVEN(i) "add.rn.f32 sum" #i ", sum" #i ", even" #i ";\n"
#define DIECAST_ADD_ODD(i) "add.rn.f32 sum" #i ", sum" #i ", odd" #i ";\n"
#define DIECAST_BLOCK_WGMMA(sums)                                                                    \
  asm volatile("wgmma.fence.sync.aligned;\n"                                                         \
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" sums                        \
               "}, %0, %1, add, 1, 1, 0, 0;\n wgmma.commit_group.sync.aligned;" ::"l"(a), "l"(b)     \
               : "memory")

struct WgmmaBlockSums {
  DIECAST_DEVICE WgmmaBlockSums() {
    asm volatile(".reg .f32 sum<64>, even<64>, odd<64>;\n.reg .pred add;\nsetp.ne.u32 add, 0, 0;");
  }

  // Sums of nothing yet.
  DIECAST_DEVICE void begin() const {
    asm volatile(DIECAST_0_TO_31(DIECAST_BLOCK_ZERO));
    asm volatile(DIECAST_32_TO_63(DIECAST_BLOCK_ZERO));
  }

  // Begins the products of a block. a, b: where its 64 and its 128 rows lie (place_of()).
  template <bool Odd>
  DIECAST_DEVICE void multiply(u64 a, u64 b) const {
    if constexpr (Odd) {
      DIECAST_BLOCK_WGMMA("odd0" DIECAST_1_TO_31(DIECAST_ODD_NAME) DIECAST_32_TO_63(DIECAST_ODD_NAME));
    } else {
      DIECAST_BLOCK_WGMMA("even0" DIECAST_1_TO_31(DIECAST_EVEN_NAME) DIECAST_32_TO_63(DIECAST_EVEN_NAME));
    }
  }

  // Waits until at most `Running` blocks' products have not ended.
  template <int Running>
  DIECAST_DEVICE void wait() const {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Running) : "memory");
  }

  // Adds a block's products, which have ended.
  template <bool Odd>
  DIECAST_DEVICE void add() const {
    if constexpr (Odd) {
      asm volatile(DIECAST_0_TO_31(DIECAST_ADD_ODD));
      asm volatile(DIECAST_32_TO_63(DIECAST_ADD_ODD));
    } else {
      asm volatile(DIECAST_0_TO_31(DIECAST_ADD_EVEN));
      asm volatile(DIECAST_32_TO_63(DIECAST_ADD_EVEN));
    }
  }

  // Begins a block's products, and adds those of the block before.
  template <bool Odd>
  DIECAST_DEVICE void step(u64 a, u64 b) const {
    multiply<Odd>(a, b);
    wait<1>();
    add<!Odd>();
  }

  // What wgmma is told of a place in shared memory, of rows of 128 bytes as number_tiles.h has them: in units of 16 bytes the
  // place and from 8 rows to the next 8; how they are turned. A block further is 2 more.
  DIECAST_DEVICE static u64 place_of(u32 rows) { return rows / 16 | u64{1024 / 16} << 32 | u64{1} << 62; }

  // Puts the thread's sums of 64 columns, the first or the second, into shared memory, whose rows are `Pitch` floats apart. A
  // lane's are of rows g and g + 8 of its warp's 16 and columns 8 * i + 2 * q and the next, with g = lane / 4 and q = lane % 4; `to`
  // is the place of row g and column 2 * q.
  template <int Pitch, int First, int Nth = 0>
  DIECAST_DEVICE void put(u32 to) const {
    if constexpr (Nth < 8) {
      constexpr int kSum = 4 * (First / 8 + Nth);
      asm volatile("st.shared.v2.f32 [%0], {sum%1, sum%2};\n st.shared.v2.f32 [%0 + %5], {sum%3, sum%4};" ::"r"(to + 32 * Nth),
                   "n"(kSum), "n"(kSum + 1), "n"(kSum + 2), "n"(kSum + 3), "n"(32 * Pitch)
                   : "memory");
      put<Pitch, First, Nth + 1>(to);
    }
  }
};

}  // namespace diecast

#endif
