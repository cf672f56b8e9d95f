// One target as a libFuzzer program; FUZZ_TARGET is its name. `-DDIECAST_FUZZ=ON` with clang builds
// fuzz_<name> of each; run it on a copy of tests/fuzz/corpus/<name>.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& target : diecast::testing::fuzz_targets()) {
    if (std::strcmp(target.name, FUZZ_TARGET) != 0) continue;
    target.run({reinterpret_cast<const char*>(data), size});
    return 0;
  }
  std::abort();
}
