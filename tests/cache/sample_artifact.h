// A small artifact and its key, as if compiled: what the cache's tests publish and find.
#pragma once

#include <diecast/cache/artifact_key.h>
#include <diecast/compile/artifact.h>

#include <string>

namespace diecast::testing {

inline constexpr char kSampleCompiler[] = "nvrtc-13.0.88-0123abcd";

struct Sample {
  ArtifactKey key;
  Artifact artifact;
};

// `number` tells samples apart; `payload` is the size of the machine code in bytes.
inline Sample make_sample(int number = 0, std::size_t payload = 1000) {
  Sample out;
  Artifact& artifact = out.artifact;
  artifact.kind = Artifact::Kind::cubin;
  artifact.target = Target{Target::Kind::cuda, 90, 'a', 1};
  artifact.symbol = "copy";
  artifact.argument_schema = "x in f32 *\ny out f32 *\nrows i64\n";
  artifact.spelling = "copy COLS=" + std::to_string(number) + " @ sm_90a";
  artifact.compiler = kSampleCompiler;
  artifact.registers = 40;
  artifact.spill_bytes = 8;
  artifact.local_bytes = 16;
  artifact.static_shared_bytes = 4096;
  artifact.compile_ms = 36.125;
  artifact.log = "copy.cu(3): warning: a remark";
  artifact.payload.resize(payload);
  std::uint32_t state = 1u + static_cast<std::uint32_t>(number);  // no two blocks alike
  for (std::byte& byte : artifact.payload) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  const std::string source = "constexpr int COLS = " + std::to_string(number) + ";\n";
  out.key = make_key(KeyFields{"copy",
                               source,
                               {"-arch=sm_90a", "--std=c++20"},
                               "sm_90a",
                               artifact.kind,
                               artifact.argument_schema});
  return out;
}

inline bool same(const Artifact& a, const Artifact& b) {
  return a.kind == b.kind && a.target == b.target && a.symbol == b.symbol &&
         a.argument_schema == b.argument_schema && a.spelling == b.spelling &&
         a.compiler == b.compiler && a.registers == b.registers && a.spill_bytes == b.spill_bytes &&
         a.local_bytes == b.local_bytes && a.static_shared_bytes == b.static_shared_bytes &&
         a.compile_ms == b.compile_ms && a.log == b.log && a.payload == b.payload;
}

}  // namespace diecast::testing
