// The words of words.cu on any device against this file's own arithmetic.
#pragma once

#include <diecast/compile/compiler.h>
#include <diecast/launch/kernel.h>
#include <diecast/template/source.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "temporary_directory.h"

namespace diecast::testing {

// A template of this folder, resident on the device.
inline std::shared_ptr<Kernel> kernel_of(const std::string& name, Compiler& compiler,
                                         const std::shared_ptr<Device>& device,
                                         const Target& target) {
  const std::string path = std::string(DIECAST_SOURCE_DIR "/tests/launch/") + name + ".cu";
  const auto tmpl = Template::parse(name, text_of(path)).value();
  const auto one = Specialization::make(tmpl, {}, target).value();
  const Source source = render(one, TemplateFiles::embedded()).value();
  auto compiled = compiler.compile(source, target);
  if (!compiled) return ADD_FAILURE() << compiled.error().message(), nullptr;
  auto artifact = std::make_shared<Artifact>(*std::move(compiled));
  EXPECT_EQ(artifact->log, "");
  artifact->argument_schema = one.argument_schema();
  artifact->spelling = one.spelling();
  auto kernel = Kernel::make(one, artifact, device).value();
  kernel->preload().value();
  return kernel;
}

// Device memory that begins as `data`.
template <class T>
T* on_device(Device& device, const std::vector<T>& data) {
  T* const memory = static_cast<T*>(device.allocate(data.size() * sizeof(T)).value());
  device.copy_to_device(memory, data.data(), data.size() * sizeof(T), {}).value();
  return memory;
}

// What it has after all work.
template <class T>
void take_from_device(Device& device, T* memory, std::vector<T>& data) {
  device.copy_to_host(data.data(), memory, data.size() * sizeof(T), {}).value();
  device.synchronize({}).value();
  device.free(memory).value();
}

struct Words {
  static constexpr std::size_t kResults = 42, kThreads = 96;
  using Row = std::vector<std::uint64_t>;
  std::vector<std::uint32_t> x;

  std::uint32_t reversed(std::uint32_t word) const {
    std::uint32_t out = 0;
    for (int i = 0; i < 32; ++i) out |= (word >> i & 1u) << (31 - i);
    return out;
  }
  template <class T>
  static std::uint32_t products(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (int i = 0; i < 32; i += 8)
      c += static_cast<std::uint32_t>(static_cast<T>(a >> i) * static_cast<T>(b >> i));
    return c;
  }
  void bits(std::uint32_t word, Row& row) const {
    __extension__ using Wide = __int128;
    const auto low = word ^ 0x12345678u;
    const std::uint64_t twice = std::uint64_t{word} << 32 | low;
    const auto product = [](Wide a, Wide b, int shift) {
      return static_cast<std::uint64_t>(a * b >> shift);
    };
    row.push_back(reversed(word));
    row.push_back(std::uint64_t{reversed(low)} << 32 | reversed(word));
    row.push_back(static_cast<std::uint64_t>(std::popcount(twice)));
    row.push_back(static_cast<std::uint64_t>(std::countl_zero(twice >> (word & 63))));
    const std::uint64_t left = twice << (word & 63);
    row.push_back(left == 0 ? 0 : static_cast<std::uint64_t>(std::countr_zero(left) + 1));
    row.push_back(product(word, 0x9E3779B9u, 32));
    row.push_back(
        static_cast<std::uint32_t>(product(static_cast<std::int32_t>(word), -1234567, 32)));
    __extension__ using Unsigned = unsigned __int128;
    row.push_back(static_cast<std::uint64_t>(static_cast<Unsigned>(twice) * twice >> 64));
    row.push_back(product(static_cast<std::int64_t>(twice), -123456789012345LL, 64));
    row.push_back(products<std::uint8_t>(word, word * 3, 7u));
    row.push_back(products<std::int8_t>(word, word * 3, static_cast<std::uint32_t>(-7)));
  }

  template <class Join>
  std::uint32_t joined(std::size_t first, std::size_t count, const Join& join) const {
    std::uint32_t out = x[first];
    for (std::size_t i = first + 1; i < first + count; ++i) out = join(out, x[i]);
    return out;
  }
  std::uint32_t alike(std::size_t first, std::size_t count, std::size_t i,
                      std::uint32_t mask) const {
    std::uint32_t lanes = 0;
    for (std::size_t lane = 0; lane < count; ++lane)
      if ((x[first + lane] & mask) == (x[i] & mask)) lanes |= 1u << lane;
    return lanes;
  }
  void lanes(std::size_t i, Row& row) const {
    using U = std::uint32_t;
    const auto number = [](U a) { return static_cast<std::int32_t>(a); };
    const std::size_t warp = i / 32 * 32, block = i / kThreads * kThreads;
    const auto of_warp = [&](const auto& join) { row.push_back(joined(warp, 32, join)); };
    row.push_back(alike(warp, 32, i, 3));
    row.insert(row.end(), {0xFFFFFFFFu, 0, 2});
    const U sum = joined(warp, 32, [](U a, U b) { return a + b; });
    row.insert(row.end(), {sum, sum});
    of_warp([](U a, U b) { return std::min(a, b); });
    of_warp([&](U a, U b) { return number(a) < number(b) ? a : b; });
    of_warp([](U a, U b) { return std::max(a, b); });
    of_warp([&](U a, U b) { return number(a) > number(b) ? a : b; });
    row.push_back(joined(warp, 32, [](U a, U b) { return a & b; }) | 0xFF00FF00u);
    row.push_back(joined(warp, 32, [](U a, U b) { return a | b; }) & 0x00FF00FFu);
    of_warp([](U a, U b) { return a ^ b; });
    const U half = joined(warp, 16, [](U a, U b) { return a + b; });
    row.push_back(i % 32 < 16 ? std::uint64_t{alike(warp, 16, i, 1)} << 32 | half : 0);
    std::uint64_t thirds = 0, any = 0, all = 1;
    for (std::size_t j = block; j < block + kThreads; ++j) {
      thirds += x[j] % 3 == 0;
      any |= x[j] % 4096 == 0;
      all &= x[j] % 64 != 0;
    }
    row.insert(row.end(), {thirds, any, all});
  }

  Row expected(std::size_t i, double real, std::uint64_t wide, std::int64_t product) const {
    Row row;
    const std::uint32_t word = x[i];
    bits(word, row);
    lanes(i, row);
    const std::uint64_t squares[] = {0, 1, 4, 9}, cubes[] = {0, 1, 8, 27};
    const std::uint64_t limits = std::uint64_t{INT64_MAX} - INT32_MAX - UINT16_MAX + 1 - INT16_MIN;
    const float root = std::sqrt(std::bit_cast<float>(word & 0x7FFFFFFFu));
    row.insert(row.end(), {word, std::bit_cast<std::uint32_t>(-3.0f),
                           squares[word & 3] + cubes[word & 3] + word + 8,
                           std::uint64_t{0x7F7FFFFF7F800000}, (std::uint64_t{1} << 32) + limits});
    row.push_back((word & 255u) + std::uint64_t{word & 0xFFFFu});
    row.push_back(std::isnan(root) ? 0 : std::bit_cast<std::uint32_t>(root));
    row.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(real * word)) + wide);
    row.insert(row.end(), {static_cast<std::uint64_t>(product), word & 0xFFFFu,
                           std::uint64_t{word} << 32 | 7u});
    const std::uint64_t seen = word & 7;
    row.push_back(seen << 32 | (seen >= 5 ? 0 : seen + 1));
    row.push_back(seen << 32 | (seen == 0 || seen > 5 ? 5 : seen - 1));
    row.push_back(std::uint64_t{x.size() / kThreads} << 32 | 1u << 28 | 2u << 24 |
                  (word & 255) << 8 | 3u << 4 | 1u);
    return row;
  }
};

// Numbers of many kinds, so that votes of blocks differ; no NaN's bits.
inline Words drawn_words() {
  Words words;
  std::mt19937 random(11);
  for (std::size_t i = 0; i < 10 * Words::kThreads; ++i) {
    std::uint32_t word = static_cast<std::uint32_t>(random());
    if (i / Words::kThreads % 2 == 0) word = (word | 1u) & ~2u;
    if ((word & 0x7FFFFFFFu) > 0x7F800000u) word &= 0xFFu;
    words.x.push_back(i % 4099 == 200 ? 8192 : word);
  }
  return words;
}

inline void expect_words_equal(const std::shared_ptr<Device>& device, Compiler& compiler,
                               const Target& target) {
  const auto kernel = kernel_of("words", compiler, device, target);
  ASSERT_NE(kernel, nullptr);
  const Words words = drawn_words();
  const std::size_t n = words.x.size();
  std::vector<std::uint64_t> out(n * Words::kResults);
  std::vector<std::uint32_t> sums = {5, 0, ~0u, ~0u, 0, 0, 9, 0};
  std::vector<std::int64_t> longs = {1ll << 40, INT64_MIN, INT64_MAX, -1, 0, 0, 0, 0};
  auto* const x = on_device(*device, words.x);
  auto* const results = on_device(*device, out);
  auto* const of_sums = on_device(*device, sums);
  auto* const of_longs = on_device(*device, longs);
  constexpr double kReal = 0.1;
  constexpr std::uint64_t kWide = std::uint64_t{1} << 63;
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::u32, x),
                                      KernelArgument::tensor(DType::u64, results),
                                      KernelArgument::tensor(DType::u32, of_sums),
                                      KernelArgument::tensor(DType::i64, of_longs),
                                      KernelArgument::size(static_cast<std::int64_t>(n)),
                                      KernelArgument::scalar(kReal),
                                      KernelArgument::scalar(kWide),
                                      KernelArgument::scalar(std::int8_t{-100}),
                                      KernelArgument::scalar(std::uint16_t{65535})};
  kernel->launch(arguments, {}).value();
  take_from_device(*device, results, out);
  take_from_device(*device, of_sums, sums);
  take_from_device(*device, of_longs, longs);
  auto given = words.x;
  take_from_device(*device, x, given);
  for (std::size_t i = 0; i < n; ++i) {
    const auto expected = words.expected(i, kReal, kWide, -100 * 65535);
    ASSERT_EQ(expected.size(), Words::kResults);
    for (std::size_t j = 0; j < Words::kResults; ++j)
      ASSERT_EQ(out[i * Words::kResults + j], expected[j]) << "thread " << i << ", result " << j;
  }
  std::vector<std::uint32_t> met = {5, 0, ~0u, ~0u, 0, 0, 9, 0};
  std::vector<std::int64_t> met_longs = {1ll << 40, INT64_MIN, INT64_MAX, -1, 0, 0, 0, 0};
  for (const std::uint32_t word : words.x) {
    const std::int64_t number = static_cast<std::int32_t>(word);
    met = {met[0] + (word & 255),   std::max(met[1], word),
           std::min(met[2], word),  met[3] & (word | 0xF0u),
           met[4] | (word & 0x0Fu), met[5] ^ word,
           met[6] + (word & 7),     0};
    met_longs = {met_longs[0] + number,
                 std::max(met_longs[1], number),
                 std::min(met_longs[2], number),
                 met_longs[3] & (number | 0xF0),
                 met_longs[4] | (number & 0x0F),
                 met_longs[5] ^ number,
                 0,
                 0};
  }
  EXPECT_EQ(sums, met);
  EXPECT_EQ(longs, met_longs);
}

}  // namespace diecast::testing
