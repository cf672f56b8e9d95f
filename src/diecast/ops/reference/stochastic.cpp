// See stochastic.h. The sum is the one fused multiplication and addition of the rule.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/stochastic.h>

#include <algorithm>
#include <cmath>

namespace diecast::reference {
namespace {

constexpr std::uint64_t kTwo32 = 1ull << 32;

// Counter words 0 and 1 are the offset, 2 and 3 the sequence; the key is the seed.
RandomBlock one_round(const RandomBlock& counter, std::uint64_t key) {
  const std::uint64_t first = 0xD2511F53ull * counter[0], second = 0xCD9E8D57ull * counter[2];
  const std::uint64_t words[] = {second / kTwo32 ^ counter[1] ^ key % kTwo32, second % kTwo32,
                                 first / kTwo32 ^ counter[3] ^ key / kTwo32, first % kTwo32};
  RandomBlock out;
  std::transform(std::begin(words), std::end(words), out.begin(),
                 [](std::uint64_t word) { return static_cast<std::uint32_t>(word); });
  return out;
}

// The grid's distance at a magnitude.
float step_at(float magnitude) {
  return magnitude >= 4.0f ? 2.0f : magnitude >= 2.0f ? 1.0f : 0.5f;
}

}  // namespace

RandomBlock philox4x32(std::uint64_t seed, std::uint64_t sequence, std::uint64_t offset) {
  const std::uint64_t words[] = {offset % kTwo32, offset / kTwo32, sequence % kTwo32,
                                 sequence / kTwo32};
  RandomBlock counter;
  for (std::size_t i = 0; i < 4; ++i) counter[i] = static_cast<std::uint32_t>(words[i]);
  std::uint64_t low = seed % kTwo32, high = seed / kTwo32;
  for (int round = 0; round < 10; ++round) {
    counter = one_round(counter, high * kTwo32 + low);
    low = (low + 0x9E3779B9ull) % kTwo32;
    high = (high + 0xBB67AE85ull) % kTwo32;
  }
  return counter;
}

std::uint8_t stochastic_e2m1(float y, unsigned random) {
  if (std::isnan(y)) return 7;
  const float magnitude = std::fabs(y);
  const float u = static_cast<float>(random) / 256.0f;
  const float moved = std::fma(u, step_at(magnitude), magnitude);
  const float steps = std::floor(moved / step_at(moved));
  const float on_grid = std::fmin(steps * step_at(moved), 6.0f);
  return encode_e2m1(std::copysign(on_grid, y));  // exact
}

}  // namespace diecast::reference
