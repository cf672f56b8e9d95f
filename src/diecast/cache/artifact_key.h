// The name of an artifact: a 128-bit digest of everything that decides its machine code. It does
// not depend on paths, times, users, device names, the driver's version or the environment. The
// whole record is stored in the entry and compared on every hit, so a collision is a miss.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/compile/artifact.h>
#include <diecast/template/source.h>
#include <diecast/template/specialization.h>

#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct ArtifactKey {
  Record record;
  Digest digest;  // of the record
  std::string hex() const { return digest.hex(); }
};

// Tags of the record, ascending; each stands in it exactly once. A change of meaning bumps
// kKeyVersion; a golden test pins both.
enum class KeyTag : std::uint16_t {
  version = 1,        // kKeyVersion
  template_name = 2,  // text
  source = 3,         // the rendered text: every device header and binding
  options = 4,        // a record of its own, one field (tag 1, text) an option, in order
  target = 5,         // Target::name()
  kind = 6,           // number of the Artifact::Kind
  schema = 7          // Specialization::argument_schema()
};
inline constexpr std::uint64_t kKeyVersion = 2;

// The fields that a record is made of.
struct KeyFields {
  std::string_view template_name, source;
  std::vector<std::string> options;  // code_options() of target and build
  std::string target;
  Artifact::Kind kind = Artifact::Kind::cubin;
  std::string_view schema;
};

ArtifactKey make_key(const KeyFields& fields);
ArtifactKey make_key(const Specialization& specialization, const Source& source);
ArtifactKey key_of(ByteSpan record);  // the key with this record, as an entry stores it

// Finds a field of a key's record; none if the bytes are no record or lack it.
std::optional<Record::Field> key_field(ByteSpan record, KeyTag tag);

}  // namespace diecast
