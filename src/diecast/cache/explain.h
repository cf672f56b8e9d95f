// Why a key is a miss: the entry most like it, and the first field in which they differ.
#pragma once

#include <diecast/cache/cache_roots.h>

#include <optional>
#include <string>

namespace diecast {

struct MissReason {
  std::size_t entries = 0;                  // that were compared
  std::size_t damaged = 0;                  // that could not be
  EntryFault own_fault = EntryFault::none;  // why the very entry, which is in own_root, is no good
  std::string own_root;
  bool own_in_bundle = false;
  std::optional<Error> unread;           // why a root could not be looked through to its end
  std::string root, spelling, compiler;  // of the nearest entry; empty if there is none
  std::string field;        // "source", "options", ...; "compiler": the same key by another one
  std::string here, there;  // the field's text; of long ones the first line that differs
  int line = 0;             // its number, of a field of several lines
};

// `compiler`: the identity found here, or empty. Reads every entry of every layer.
MissReason explain_miss(const CacheRoots& roots, const ArtifactKey& key,
                        const std::string& compiler);

}  // namespace diecast
