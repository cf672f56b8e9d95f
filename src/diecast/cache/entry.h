// The file format of one cached artifact (`.dce`): header, key record, metadata, payload, trailer,
// each checksummed. Byte offsets stand in cache/README.md.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/hash.h>
#include <diecast/cache/artifact_key.h>
#include <diecast/compile/artifact.h>

namespace diecast {

inline constexpr std::uint64_t kEntryLimit = 64u << 20;  // a larger file is not an entry

Bytes encode_entry(const ArtifactKey& key, const Artifact& artifact);

// Why a file is not the entry asked for; each is a miss with its own counter.
enum class EntryFault : std::uint8_t {
  none, too_short, bad_magic, other_version, bad_header, bad_length, other_key, bad_checksum, bad_metadata
};
std::string_view entry_fault_name(EntryFault fault);

struct DecodedEntry {
  EntryFault fault = EntryFault::none;
  Artifact artifact;  // when fault is none
};

// Checks everything before it believes anything: checksums, bounds by subtraction, the whole key
// record against `key`. Without a key (listing, verifying) the record is only checked against itself.
DecodedEntry decode_entry(ByteSpan file, const ArtifactKey* key);

// What a listing shows of an entry, without its payload.
struct EntrySummary {
  Digest digest;
  std::string spelling, compiler;
  Target target;
  std::uint64_t file_bytes = 0;
};

}  // namespace diecast
