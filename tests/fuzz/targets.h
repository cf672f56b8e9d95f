// What is fuzzed: every reader of bytes or text that comes from outside. A target takes any input;
// what is wrong it refuses with an error, and what it accepts must keep its promises (else abort).
#pragma once

#include <cstdlib>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

struct FuzzTarget {
  const char* name;  // also of its folder in tests/fuzz/corpus
  void (*run)(std::string_view input);
  std::vector<std::string> (*seeds)();
};
inline void PrintTo(const FuzzTarget& target, std::ostream* to) { *to << target.name; }

std::span<const FuzzTarget> fuzz_targets();

// A promise of what was accepted.
inline void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace diecast::testing
