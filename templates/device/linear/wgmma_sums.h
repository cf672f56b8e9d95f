// The sums of a warpgroup that multiplies 64 rows of weights by `Columns` rows of x through wgmma. They are in registers
// that the assembly names, sum0 and so on, because a compiler's optimizer would carry each by itself through all loops. So
// a kernel has such sums once. Where K is cut in parts, total0 and so on have the sums of the parts before.
#pragma once

#include <diecast/device/base/numbered.h>
#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

#if DIECAST_CC == 90

namespace diecast {

#define DIECAST_SUM_NAME(i) ", sum" #i
#define DIECAST_SUM_ZERO(i) "mov.f32 sum" #i ", 0f00000000;\n"
#define DIECAST_SUM_KEEP(i) "mov.f32 total" #i ", sum" #i ";\n"
#define DIECAST_SUM_ADD(i) "add.rn.f32 total" #i ", total" #i ", sum" #i ";\n"
#define DIECAST_EACH_SUM(f)                                    \
  asm volatile(DIECAST_0_TO_31(f));                            \
  if constexpr (Used > 64) asm volatile(DIECAST_32_TO_63(f));  \
  if constexpr (Used > 128) asm volatile(DIECAST_64_TO_95(f)); \
  if constexpr (Used > 192) asm volatile(DIECAST_96_TO_127(f));

#define DIECAST_SUMS_32() "sum0" DIECAST_1_TO_15(DIECAST_SUM_NAME)
#define DIECAST_SUMS_64() DIECAST_SUMS_32() DIECAST_16_TO_31(DIECAST_SUM_NAME)
#define DIECAST_SUMS_128() DIECAST_SUMS_64() DIECAST_32_TO_63(DIECAST_SUM_NAME)
#define DIECAST_SUMS_192() DIECAST_SUMS_128() DIECAST_64_TO_95(DIECAST_SUM_NAME)
#define DIECAST_SUMS_256() DIECAST_SUMS_192() DIECAST_96_TO_127(DIECAST_SUM_NAME)
#define DIECAST_WGMMA(columns, type)                                                                 \
  if constexpr (Used == columns && dtype_id<X> == dtype_id<type>)                                    \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type             \
                 " {" DIECAST_SUMS_##columns() "}, {%0, %1, %2, %3}, %4, add, 1, 1, 0;" ::"r"(a[0]), \
                 "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(of_x)                                          \
                 : "memory");

// Columns: 32, 64, 128, 192 or 256. Parts: of K. X: bf16 or f16. Used: the first columns, as many, that somebody looks at.
template <int Columns, int Parts, class X>
struct WgmmaSums {
  static constexpr int kColumns = Columns;
  DIECAST_DEVICE WgmmaSums() {
    asm volatile(".reg .f32 sum<128>;\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;");
    if constexpr (Parts > 1) asm volatile(".reg .f32 total<128>;");
  }

  // Sums of nothing yet.
  template <int Used = Columns>
  DIECAST_DEVICE void begin() const {
    DIECAST_EACH_SUM(DIECAST_SUM_ZERO)
  }

  // Begins to add the products of a tile of the depth, 64, which are a group. a: a thread's registers of the weights, by
  // steps of 16. x: where x lies, `Used` rows of 128 bytes that a bulk copy turned by 128.
  template <int Used = Columns>
  DIECAST_DEVICE void add(const u32 (&a)[4][4], u32 x) const {
    // In units of 16 bytes: where it lies, from 8 rows to the next 8; how it is turned.
    const u64 of_x = x / 16 | u64{1024 / 16} << 32 | u64{1} << 62;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    DIECAST_UNROLL
    for (int step = 0; step < 4; ++step) add_step<Used>(a[step], of_x + 2 * step);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int Used>
  DIECAST_DEVICE void add_step(const u32 (&a)[4], u64 of_x) const {
    DIECAST_WGMMA(32, bf16)
    DIECAST_WGMMA(64, bf16)
    DIECAST_WGMMA(128, bf16)
    DIECAST_WGMMA(192, bf16)
    DIECAST_WGMMA(256, bf16)
    DIECAST_WGMMA(32, f16)
    DIECAST_WGMMA(64, f16)
    DIECAST_WGMMA(128, f16)
    DIECAST_WGMMA(192, f16)
    DIECAST_WGMMA(256, f16)
  }

  // Waits until at most `Running` of these groups have not ended.
  template <int Running>
  DIECAST_DEVICE void wait() const {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Running) : "memory");
  }

  // When a part has ended.
  template <int Used = Columns>
  DIECAST_DEVICE void end_part(bool first) const {
    if (first) {
      DIECAST_EACH_SUM(DIECAST_SUM_KEEP)
    } else {
      DIECAST_EACH_SUM(DIECAST_SUM_ADD)
    }
  }

  // Puts the thread's sums, of all parts, of 8 columns from 8 * Eight on into shared memory, where a column's rows follow
  // each other and the next column is `Pitch` floats further. A lane's are of rows g and g + 8 and columns 2q and 2q + 1,
  // with g = lane / 4 and q = lane % 4; `to` is the place of row g and column 2q.
  template <int Eight, int Pitch>
  DIECAST_DEVICE void put(u32 to) const {
#define DIECAST_PUT(of)                                                                                                        \
  asm volatile("st.shared.f32 [%0], " of "%1;\n st.shared.f32 [%0 + %5], " of "%2;\n st.shared.f32 [%0 + 32], " of             \
               "%3;\n"                                                                                                         \
               " st.shared.f32 [%0 + %6], " of "%4;" ::"r"(to),                                                                \
               "n"(4 * Eight), "n"(4 * Eight + 1), "n"(4 * Eight + 2), "n"(4 * Eight + 3), "n"(4 * Pitch), "n"(4 * Pitch + 32) \
               : "memory")
    if constexpr (Parts > 1)
      DIECAST_PUT("total");
    else
      DIECAST_PUT("sum");
#undef DIECAST_PUT
  }
};

}  // namespace diecast

#endif
