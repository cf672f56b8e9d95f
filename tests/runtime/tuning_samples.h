// A template to tune and records of it, for the tests of the tuner.
#pragma once

#include <diecast/runtime/tuning/record.h>

#include <string>

namespace diecast::testing {

inline constexpr const char* kTunedText = R"(/* diecast
shape int COLS = 0
option type IN {bf16, f32}
tune int THREADS {64, 128, 256} = 64
tune int waves {1, 4, 16} = 4
size rows
size cols = COLS
arg x in IN [rows, cols]
arg y out IN [rows, cols]
arg rows
arg cols
require THREADS < 256 || IN != bf16  // bf16 needs few
launch grid(min(rows, sm_count * waves)) block(THREADS)
target host, sm_80+
exchange none
*/
DIECAST_KERNEL {
  const i64 all = rows * cols;
  for (i64 i = blockIdx.x * THREADS + threadIdx.x; i < all; i += gridDim.x * THREADS) y[i] = x[i];
}
)";

// One of kTunedText as "k" on the fake GPU.
inline TuningRecord record(std::string tunes, std::int64_t ns, std::int64_t rows = 512) {
  TuningRecord out;
  out.kernel = "k COLS=0 IN=bf16 @ sm_90a";
  out.device = "Fake_GPU/90/132";
  out.sizes = {{"rows", rows}, {"cols", 4096}};
  out.tunes = std::move(tunes);
  out.ns = ns;
  out.samples = 15;
  return out;
}

}  // namespace diecast::testing
