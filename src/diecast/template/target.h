// A specialization is compiled for a target: the host's C++ compiler with a named instruction set,
// or one CUDA architecture. From 9.0 up only the `a` and `f` spellings exist, because a plain
// sm_100 would silently emulate FP4 conversion (2.4x bigger code).
#pragma once

#include <diecast/base/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct Target {
  enum class Kind : std::uint8_t { host, cuda };
  Kind kind = Kind::host;
  int cc = 0;          // compute capability times ten: 80, 90, 103, 121; 0 for host
  char suffix = 0;     // 'a' (this architecture only), 'f' (its family), 0
  int host_level = 1;  // 1 = the architecture's baseline ("host"), 3 = AVX2 ("host_v3")

  bool is_host() const { return kind == Kind::host; }
  std::string name() const;  // "host", "host_v3", "sm_90a", "sm_86"
  auto operator<=>(const Target&) const = default;

  // Parses "host", "host_v3", "sm_80", "sm_90a", "sm_100f", ..., and architectures as others spell
  // them: "8.6" and "9.0a" (PyTorch), "90a" (CMake), "sm90a". Errors: unknown_target; for any other
  // word with an architecture's digits, as a bare sm_90, the fix names the spelling that exists.
  static Result<Target> parse(std::string_view name);
  // Returns the targets that a device of this compute capability runs, best first: its exact `a`
  // (8.x: its number), then its family's `f`.
  static std::vector<Target> for_device(int cc);
};

}  // namespace diecast
