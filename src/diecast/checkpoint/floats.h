// f32, f16 and bf16 values as they lie in a file: widened, and searched for NaN, infinity and the
// largest. Plain host code, independent of the kernels.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/template/value.h>

#include <cstdint>
#include <vector>

namespace diecast {

// Each value as f32, exactly; out becomes as long as there are whole values. Types as above.
void widen(ByteSpan bytes, DType type, std::vector<float>& out);

struct Nonfinite {
  std::uint64_t nan = 0, infinite = 0;
  Nonfinite& operator+=(const Nonfinite& other) {
    nan += other.nan;
    infinite += other.infinite;
    return *this;
  }
};

// What one pass over values finds: how many are not finite, and the largest magnitude of those that
// are no NaN, 0 where there is none.
struct FloatScan {
  Nonfinite nonfinite;
  float largest = 0;
};
// Types as above.
FloatScan scan_floats(ByteSpan bytes, DType type);
// How many of the values are not finite. Types as above.
Nonfinite count_nonfinite(ByteSpan bytes, DType type);

}  // namespace diecast
