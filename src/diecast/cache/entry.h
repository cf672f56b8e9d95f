// The file format of one cached artifact (`.dce`): header, key record, metadata, payload, trailer,
// each checksummed. Byte offsets stand in cache/FORMAT.md.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/hash.h>
#include <diecast/cache/artifact_key.h>
#include <diecast/compile/artifact.h>

namespace diecast {

inline constexpr std::uint64_t kEntryLimit = 64u << 20;  // a larger file is not an entry

// Encodes an artifact; the same key and artifact give the same bytes. Errors: not_supported (the
// artifact is too large for an entry), internal (key and artifact disagree on target, kind or
// argument schema, or there is no payload).
Result<Bytes> encode_entry(const ArtifactKey& key, const Artifact& artifact);

// The reason why a file is not the entry asked for; each is a miss with its own counter. Up to
// other_version the file is left alone and publishing that key fails, because it is no entry of
// ours or not for us to read. (`unreadable` is also a failing disk or too many open files, which
// say nothing about the file: a file of that name then counts as the entry.) The later reasons are
// damage, which the next publish of that key mends.
enum class EntryFault : std::uint8_t {
  none,
  unreadable,     // the system refused to open or read it
  not_a_file,     // a directory, link, FIFO or device has the name
  other_version,  // of a diecast that knows more
  not_private,    // not owned by this user or root, or others may write it
  too_short,
  bad_magic,
  bad_header,
  bad_length,
  bad_checksum,
  other_key,
  bad_metadata
};
inline constexpr std::size_t kEntryFaults = 12;
std::string_view entry_fault_name(EntryFault fault);
inline bool is_damage(EntryFault fault) { return fault > EntryFault::other_version; }

struct DecodedEntry {
  EntryFault fault = EntryFault::none;
  Artifact artifact;  // when fault is none; compile_ms to the microsecond
};

// Decodes an entry. It checks everything before it believes anything: checksums, bounds by
// subtraction, the whole key record against `key`. Without a key (verifying) the record is only
// checked against itself. The artifact has a copy of the payload, because most of a file is the
// kernel's source, which nobody keeps.
DecodedEntry decode_entry(ByteSpan file, const ArtifactKey* key);

// The key record inside the bytes of a whole entry that decode_entry found good.
ByteSpan entry_record(ByteSpan file);

// The line of a listing for one entry.
struct EntrySummary {
  Digest digest;
  std::string spelling, compiler;
  Target target;
  std::uint64_t file_bytes = 0;
  std::int64_t used_seconds = 0;  // wall clock of the last use, six hours coarse
};

struct DecodedSummary {
  EntryFault fault = EntryFault::none;
  EntrySummary summary;  // all but used_seconds
};
// Decodes the summary of a file of `file_bytes` bytes. `head` is its beginning, at least up to the
// payload, which is not looked at.
DecodedSummary decode_summary(ByteSpan head, std::uint64_t file_bytes);

}  // namespace diecast
