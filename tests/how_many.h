// How much a test does of what could go on for ever: kills, rounds, mutations.
#pragma once

#include <cstdlib>
#include <string>

namespace diecast::testing {

// DIECAST_TEST_VARIANTS unset: a sample; "all": what `tests/run.sh all` shows; "soak": a long run
// (`ctest -C soak -L soak`).
template <class Number>
Number how_many(Number everyday, Number all, Number soak) {
  const char* set = std::getenv("DIECAST_TEST_VARIANTS");
  const std::string how = set != nullptr ? set : "";
  return how == "soak" ? soak : how == "all" ? all : everyday;
}

// Of what a sanitizer makes ten times slower, a build with one takes an eighth: it looks at how a
// thing is done, and the other builds at what comes out.
template <class Number>
constexpr Number unless_sanitized(Number number) {
#if defined(DIECAST_SANITIZER)
  return number / 8;
#else
  return number;
#endif
}

}  // namespace diecast::testing
