// A square of eight rows of eight 4-bit codes, turned: what transposes packed codes is made of.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// Word i holds row i, its first code in the lowest four bits; then column i.
DIECAST_DEVICE void transpose_8x8(u32 w[8]) {
  DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    const u32 a = w[i], b = w[i + 4];
    w[i] = __byte_perm(a, b, 0x5410);
    w[i + 4] = __byte_perm(a, b, 0x7632);
  }
  DIECAST_UNROLL
  for (int i = 0; i < 8; i += i % 4 == 1 ? 3 : 1) {  // 0, 1, 4, 5
    const u32 a = w[i], b = w[i + 2];
    w[i] = __byte_perm(a, b, 0x6240);
    w[i + 2] = __byte_perm(a, b, 0x7351);
  }
  DIECAST_UNROLL
  for (int i = 0; i < 8; i += 2) {
    const u32 a = w[i], b = w[i + 1];
    const u32 crossed = (a ^ b << 4) & 0xF0F0F0F0u;
    w[i] = a ^ crossed;
    w[i + 1] = b ^ crossed >> 4;
  }
}

}  // namespace diecast
