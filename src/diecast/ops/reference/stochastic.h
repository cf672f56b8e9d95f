// Stochastic rounding to E2M1 as its rule says it, and the random numbers behind it: the truth of
// the kernels' shorter way. The rule is that of templates/PROFILES.md.
#pragma once

#include <array>
#include <cstdint>

namespace diecast::reference {

// What a kernel reads from device memory.
struct RandomState {
  std::uint64_t seed = 0, offset = 0;
};

// Four words of Philox4x32 with ten rounds.
using RandomBlock = std::array<std::uint32_t, 4>;
RandomBlock philox4x32(std::uint64_t seed, std::uint64_t sequence, std::uint64_t offset);

// The code of y by `random`, 0 to 255: |y| plus random / 256 steps of the grid there, rounded once
// to f32, then down to the grid. NaN gives 7.
std::uint8_t stochastic_e2m1(float y, unsigned random);

}  // namespace diecast::reference
