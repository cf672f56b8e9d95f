// The name of an artifact: a 128-bit digest of everything that decides its machine code. Never in
// it: paths, times, users, device names, driver version, environment. The whole record is stored
// in the entry and compared on every hit, so a collision is a miss.
#pragma once

#include <string>

#include <diecast/base/hash.h>
#include <diecast/compile/artifact.h>
#include <diecast/template/source.h>
#include <diecast/template/specialization.h>

namespace diecast {

struct ArtifactKey {
  Record record;
  Digest digest;
  std::string hex() const { return digest.hex(); }
};

// Tags of the record, ascending. A change of meaning bumps kKeyVersion; a golden test pins both.
enum class KeyTag : std::uint16_t {
  version = 1, template_name = 2, source = 3, options = 4, target = 5, kind = 6, schema = 7
};
inline constexpr std::uint64_t kKeyVersion = 1;

ArtifactKey make_key(const Specialization& specialization, const Source& source);

}  // namespace diecast
