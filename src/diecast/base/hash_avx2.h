// The two ways to take an XXH3-128 digest; xxh3_128 (hash.h) chooses. Their digests are the same.
#pragma once

#include <diecast/base/hash.h>

namespace diecast {

Digest xxh3_128_baseline(ByteSpan bytes);

// 32 bytes a step: half the time, and hashing is most of what verifying an entry costs. Only where
// the processor has_avx2() (machine.h); an illegal instruction elsewhere.
Digest xxh3_128_avx2(ByteSpan bytes);

}  // namespace diecast
