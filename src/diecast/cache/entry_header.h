// The first 128 bytes of an entry, field by field; offsets stand in cache/FORMAT.md. What the
// header says of lengths is checked against the file's real size before anybody uses it.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/cache/entry.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace diecast {

inline constexpr std::size_t kHeaderBytes = 128;
inline constexpr std::size_t kTrailerBytes = 16;
inline constexpr std::uint64_t kRecordLimit = 1u << 20;  // of the key record and of the metadata
inline constexpr std::uint16_t kFormatMajor = 1, kFormatMinor = 0;

// Of payloads, and of entries in a bundle, in which payloads are used in place.
inline constexpr std::uint64_t kEntryAlign = 64;
inline std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kEntryAlign - 1) / kEntryAlign * kEntryAlign;
}

struct EntryHeader {
  std::uint32_t header_bytes = kHeaderBytes;  // more in a later minor version
  std::uint64_t file_bytes = 0;
  std::uint32_t record_bytes = 0, metadata_bytes = 0;
  std::uint64_t payload_offset = 0, payload_bytes = 0;
  Artifact::Kind kind = Artifact::Kind::cubin;
  Target target;
  Digest key;            // of the record: the entry's name
  Digest head_checksum;  // of all bytes between header and payload: record, metadata, padding
  Digest payload_checksum;
};

// Fills the lengths and offsets that follow from the sizes of the three parts.
void lay_out(EntryHeader& header, std::size_t record, std::size_t metadata, std::size_t payload);

std::array<std::byte, kHeaderBytes> write_header(const EntryHeader& header);

// `start` is the beginning of a file of `file_bytes` bytes, at least its header. Every length that
// `out` has afterwards lies inside the file.
EntryFault read_header(ByteSpan start, std::uint64_t file_bytes, EntryHeader& out);

// The last 16 bytes of a file: a mark and the file's length once more.
std::array<std::byte, kTrailerBytes> write_trailer(std::uint64_t file_bytes);

}  // namespace diecast
