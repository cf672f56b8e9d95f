// A short run of every fuzz target: its seeds, its corpus (where crashes are kept as regressions)
// and seeded mutations of both. libFuzzer does the long runs: see tests/README.md.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>

#include "fuzz/targets.h"
#include "how_many.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::FuzzTarget;

std::string mutated(std::string input, const std::vector<std::string>& others,
                    std::mt19937_64& random) {
  static const std::string kInteresting[] = {std::string(8, '\xff'),
                                             std::string(8, '\0'),
                                             "9223372036854775808",
                                             "-1",
                                             "*",
                                             "@",
                                             ",",
                                             "{",
                                             "[",
                                             "\"",
                                             "(",
                                             "\n",
                                             std::string("\0\0\0\x80", 4)};
  for (std::uint64_t left = 1 + random() % 4; left > 0; --left) {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    switch (random() % 6) {
      case 0:
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ 1 << random() % 8);
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<char>(random());
        break;
      case 2:
        input.insert(at, kInteresting[random() % std::size(kInteresting)]);
        break;
      case 3:
        input.erase(at, 1 + random() % 16);
        break;
      case 4: {
        const std::string& other = others[random() % others.size()];
        const std::size_t from = other.empty() ? 0 : random() % other.size();
        input.insert(at, other.substr(from, random() % 64));
        break;
      }
      default:
        input.insert(at, input.substr(at, random() % 64));
    }
  }
  return input;
}

class Fuzz : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(Fuzz, TakesAnyInput) {
  const FuzzTarget& target = GetParam();
  std::vector<std::string> inputs = target.seeds();
  const std::string folder = std::string(DIECAST_SOURCE_DIR "/tests/fuzz/corpus/") + target.name;
  if (std::filesystem::exists(folder)) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      inputs.push_back(testing::text_of(file.path()));
    }
  }
  for (const std::string& input : inputs) target.run(input);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(testing::how_many(200, 1000, 600000));
  std::mt19937_64 random(42);
  std::uint64_t runs = 0;
  for (; runs < 200 || std::chrono::steady_clock::now() < end; ++runs) {
    target.run(mutated(inputs[random() % inputs.size()], inputs, random));
  }
  std::cout << target.name << ": " << inputs.size() << " inputs, " << runs << " mutations\n";
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz,
                         ::testing::ValuesIn(testing::fuzz_targets().begin(),
                                             testing::fuzz_targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace diecast
