// XXH3 compiled for AVX2, whatever the rest is built for. Headers of others come before the pragma,
// or the linker could keep the one for AVX2 of an inline function that is compiled twice.
#include <diecast/base/hash_avx2.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define XXH_INLINE_ALL
#define XXH_VECTOR 2  // XXH_AVX2, a name that xxhash.h only has later
#include <xxhash.h>

namespace diecast {

Digest xxh3_128_avx2(ByteSpan bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace diecast

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

namespace diecast {

Digest xxh3_128_avx2(ByteSpan bytes) { return xxh3_128_baseline(bytes); }

}  // namespace diecast

#endif
