// How much a test does of what could go on for ever: kills, rounds, mutations.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace diecast::testing {

// DIECAST_TEST_VARIANTS unset: a sample; "all": what `tests/run.sh all` shows; "soak": a long run
// (`ctest -C soak -L soak`), or with DIECAST_SOAK_SHARE=20 a twentieth of one, but no less than
// "all".
template <class Number>
Number how_many(Number everyday, Number all, Number soak) {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const std::string how = set("DIECAST_TEST_VARIANTS");
  if (how != "soak") return how == "all" ? all : everyday;
  if constexpr (std::is_arithmetic_v<Number>) {
    const int share = std::atoi(set("DIECAST_SOAK_SHARE").c_str());
    if (share > 1) return std::max(all, static_cast<Number>(soak / share));
  }
  return soak;
}

// Whether all there is is wanted, for hours (`ctest -C exhaustive -L exhaustive`).
inline bool exhaustive() {
  const char* value = std::getenv("DIECAST_EXHAUSTIVE");
  return value != nullptr && std::string(value) == "1";
}

#if defined(DIECAST_SANITIZER)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Of what a sanitizer makes ten times slower, a build with one takes an eighth: it looks at how a
// thing is done, and the other builds at what comes out.
template <class Number>
constexpr Number unless_sanitized(Number number) {
  return kSanitized ? number / 8 : number;
}

}  // namespace diecast::testing
