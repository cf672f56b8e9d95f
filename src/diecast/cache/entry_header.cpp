// Laying out, writing and reading headers; see entry_header.h.
#include <diecast/base/bytes.h>
#include <diecast/cache/entry_header.h>

#include <cstring>

namespace diecast {
namespace {

using little_endian::put;
using little_endian::take;
using little_endian::take_digest;

constexpr char kMagic[] =
    "\x89"
    "DCE\r\n\x1a\n";  // a text-mode copy breaks it
constexpr char kEnd[] = "\r\nDCEEND";
constexpr std::uint32_t kLargestHeader = 4096;

namespace at {  // offsets
constexpr std::size_t magic = 0, major = 8, minor = 10, header_bytes = 12, file_bytes = 16,
                      record_bytes = 24, metadata_bytes = 28, payload_offset = 32,
                      payload_bytes = 40, kind = 48, flags = 50, cc = 52, suffix = 54,
                      host_level = 55, reserved = 56, key = 64, head_checksum = 80,
                      payload_checksum = 96, own_checksum = 112;
}  // namespace at

// The header is whole, and of a format this code knows.
EntryFault check_format(ByteSpan start, std::uint32_t& header_bytes) {
  if (start.size() < kHeaderBytes) return EntryFault::too_short;
  if (std::memcmp(start.data() + at::magic, kMagic, 8) != 0) return EntryFault::bad_magic;
  header_bytes = take<std::uint32_t>(start.data() + at::header_bytes);
  if (header_bytes < kHeaderBytes || header_bytes > kLargestHeader ||
      header_bytes % kEntryAlign != 0) {
    return EntryFault::bad_header;
  }
  if (header_bytes > start.size()) return EntryFault::too_short;
  // Every version ends its header in this checksum, so a damaged version number is not mistaken
  // for an entry of another version, which would have to be kept.
  const std::size_t covered = header_bytes - 16;
  if (xxh3_128(start.first(covered)) != take_digest(start.data() + covered)) {
    return EntryFault::bad_header;
  }
  if (take<std::uint16_t>(start.data() + at::major) != kFormatMajor) {
    return EntryFault::other_version;
  }
  if (take<std::uint16_t>(start.data() + at::flags) != 0) return EntryFault::other_version;
  const bool plain =
      header_bytes == kHeaderBytes && take<std::uint64_t>(start.data() + at::reserved) == 0;
  if (take<std::uint16_t>(start.data() + at::minor) == 0 && !plain) return EntryFault::bad_header;
  return EntryFault::none;
}

// By subtraction: no sum of lengths from a file can wrap.
EntryFault check_lengths(const EntryHeader& header, std::uint64_t file_bytes) {
  if (header.file_bytes != file_bytes || file_bytes > kEntryLimit) return EntryFault::bad_length;
  if (header.record_bytes > kRecordLimit || header.metadata_bytes > kRecordLimit) {
    return EntryFault::bad_length;
  }
  const std::uint64_t head = std::uint64_t{header.header_bytes} + header.record_bytes +
                             header.metadata_bytes;  // below 3 MiB: cannot wrap
  if (header.payload_offset != aligned(head)) return EntryFault::bad_length;
  if (header.payload_offset > file_bytes || file_bytes - header.payload_offset < kTrailerBytes) {
    return EntryFault::bad_length;
  }
  const std::uint64_t payload = file_bytes - header.payload_offset - kTrailerBytes;
  const bool whole = payload > 0 && header.payload_bytes == payload;  // code is never nothing
  return whole ? EntryFault::none : EntryFault::bad_length;
}

}  // namespace

void lay_out(EntryHeader& header, std::size_t record, std::size_t metadata, std::size_t payload) {
  header.record_bytes = static_cast<std::uint32_t>(record);
  header.metadata_bytes = static_cast<std::uint32_t>(metadata);
  header.payload_offset = aligned(header.header_bytes + record + metadata);
  header.payload_bytes = payload;
  header.file_bytes = header.payload_offset + payload + kTrailerBytes;
}

std::array<std::byte, kHeaderBytes> write_header(const EntryHeader& header) {
  std::array<std::byte, kHeaderBytes> out = {};
  std::byte* to = out.data();
  std::memcpy(to + at::magic, kMagic, 8);
  put(to + at::major, kFormatMajor, 2);
  put(to + at::minor, kFormatMinor, 2);
  put(to + at::header_bytes, header.header_bytes, 4);
  put(to + at::file_bytes, header.file_bytes, 8);
  put(to + at::record_bytes, header.record_bytes, 4);
  put(to + at::metadata_bytes, header.metadata_bytes, 4);
  put(to + at::payload_offset, header.payload_offset, 8);
  put(to + at::payload_bytes, header.payload_bytes, 8);
  put(to + at::kind, static_cast<std::uint64_t>(header.kind), 2);
  put(to + at::cc, static_cast<std::uint64_t>(header.target.cc), 2);
  put(to + at::suffix, static_cast<unsigned char>(header.target.suffix), 1);
  put(to + at::host_level,
      header.target.is_host() ? static_cast<std::uint64_t>(header.target.host_level) : 0, 1);
  put(to + at::key, header.key);
  put(to + at::head_checksum, header.head_checksum);
  put(to + at::payload_checksum, header.payload_checksum);
  put(to + at::own_checksum, xxh3_128(ByteSpan(out).first(at::own_checksum)));
  return out;
}

EntryFault read_header(ByteSpan start, std::uint64_t file_bytes, EntryHeader& out) {
  if (const EntryFault fault = check_format(start, out.header_bytes); fault != EntryFault::none) {
    return fault;
  }
  const std::byte* from = start.data();
  out.file_bytes = take<std::uint64_t>(from + at::file_bytes);
  out.record_bytes = take<std::uint32_t>(from + at::record_bytes);
  out.metadata_bytes = take<std::uint32_t>(from + at::metadata_bytes);
  out.payload_offset = take<std::uint64_t>(from + at::payload_offset);
  out.payload_bytes = take<std::uint64_t>(from + at::payload_bytes);
  if (const EntryFault fault = check_lengths(out, file_bytes); fault != EntryFault::none) {
    return fault;
  }
  const auto kind = take<std::uint16_t>(from + at::kind);
  if (kind != static_cast<std::uint16_t>(Artifact::Kind::cubin) &&
      kind != static_cast<std::uint16_t>(Artifact::Kind::shared_object)) {
    return EntryFault::other_version;  // written by a diecast that knows more kinds
  }
  out.kind = static_cast<Artifact::Kind>(kind);
  out.target = Target{};
  const auto level = take<std::uint8_t>(from + at::host_level);
  if (level == 0) {
    out.target.kind = Target::Kind::cuda;
    out.target.cc = take<std::uint16_t>(from + at::cc);
    out.target.suffix = static_cast<char>(take<std::uint8_t>(from + at::suffix));
  } else {
    out.target.host_level = level;
  }
  out.key = take_digest(from + at::key);
  out.head_checksum = take_digest(from + at::head_checksum);
  out.payload_checksum = take_digest(from + at::payload_checksum);
  return EntryFault::none;
}

std::array<std::byte, kTrailerBytes> write_trailer(std::uint64_t file_bytes) {
  std::array<std::byte, kTrailerBytes> out;
  std::memcpy(out.data(), kEnd, 8);
  put(out.data() + 8, file_bytes, 8);
  return out;
}

}  // namespace diecast
