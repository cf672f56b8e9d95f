// The words of integers: their bits, the upper half of a product, products of bytes.
#pragma once

#include <diecast/device/base/block.h>

#if !defined(__CUDACC__)

namespace diecast {

DIECAST_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
DIECAST_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
DIECAST_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
DIECAST_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
DIECAST_DEVICE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
DIECAST_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }

// The bits in the other order: neighbours change places, then pairs, and so on.
DIECAST_DEVICE unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(x);
}
DIECAST_DEVICE unsigned long long __brevll(unsigned long long x) {
  const unsigned low = static_cast<unsigned>(x), high = static_cast<unsigned>(x >> 32);
  return static_cast<unsigned long long>(__brev(low)) << 32 | __brev(high);
}

// The upper half of a product.
DIECAST_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
DIECAST_DEVICE int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
DIECAST_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
DIECAST_DEVICE long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}

// The sum of c and the four products of a word's bytes with the other's; it wraps.
DIECAST_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 255u) * (b >> i & 255u);
  return c;
}
DIECAST_DEVICE int __dp4a(int a, int b, int c) {
  unsigned sum = static_cast<unsigned>(c);
  for (int i = 0; i < 32; i += 8)
    sum += static_cast<unsigned>(static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i));
  return static_cast<int>(sum);
}

DIECAST_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i) & 7;
    result |= (static_cast<unsigned>(bytes >> (8 * pick)) & 255u) << (8 * i);
  }
  return result;
}

}  // namespace diecast

#endif
