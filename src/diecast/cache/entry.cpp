// An artifact as the bytes of its entry, and back. See cache/FORMAT.md for the format.
#include <diecast/base/text.h>
#include <diecast/cache/entry.h>
#include <diecast/cache/entry_header.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace diecast {
namespace {

// Tags of the metadata, ascending. Readers skip tags they do not know.
enum class MetaTag : std::uint16_t {
  symbol = 1,
  spelling = 2,
  compiler = 3,
  registers = 4,
  spill_bytes = 5,
  local_bytes = 6,
  static_shared_bytes = 7,
  compile_microseconds = 8,
  log = 9
};

Record metadata_of(const Artifact& artifact) {
  const auto tag = [](MetaTag value) { return static_cast<std::uint16_t>(value); };
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value < 0 ? 0 : value); };
  Record record;
  record.add(tag(MetaTag::symbol), artifact.symbol)
      .add(tag(MetaTag::spelling), artifact.spelling)
      .add(tag(MetaTag::compiler), artifact.compiler)
      .add(tag(MetaTag::registers), number(artifact.registers))
      .add(tag(MetaTag::spill_bytes), number(artifact.spill_bytes))
      .add(tag(MetaTag::local_bytes), number(artifact.local_bytes))
      .add(tag(MetaTag::static_shared_bytes), number(artifact.static_shared_bytes))
      .add(tag(MetaTag::compile_microseconds), number(std::llround(artifact.compile_ms * 1000)))
      .add(tag(MetaTag::log), artifact.log);
  return record;
}

bool take_number(const Record::Field& field, int& out) {
  const auto number = Record::number(field);
  if (!number || *number > std::uint64_t{std::numeric_limits<int>::max()}) return false;
  out = static_cast<int>(*number);
  return true;
}

bool take_field(const Record::Field& field, Artifact& out) {
  switch (static_cast<MetaTag>(field.tag)) {
    case MetaTag::symbol:
      out.symbol = field.text();
      return true;
    case MetaTag::spelling:
      out.spelling = field.text();
      return true;
    case MetaTag::compiler:
      out.compiler = field.text();
      return true;
    case MetaTag::registers:
      return take_number(field, out.registers);
    case MetaTag::spill_bytes:
      return take_number(field, out.spill_bytes);
    case MetaTag::local_bytes:
      return take_number(field, out.local_bytes);
    case MetaTag::static_shared_bytes:
      return take_number(field, out.static_shared_bytes);
    case MetaTag::compile_microseconds: {
      const auto number = Record::number(field);
      out.compile_ms = static_cast<double>(number.value_or(0)) / 1000;
      return number.has_value();
    }
    case MetaTag::log:
      out.log = field.text();
      return true;
  }
  return true;  // of a later minor version
}

// Every tag of this version once, ascending.
bool take_metadata(ByteSpan bytes, Artifact& out) {
  int known = 0, last = 0;
  while (!bytes.empty()) {
    const auto field = Record::take(bytes);
    if (!field || field->tag <= last || !take_field(*field, out)) return false;
    last = field->tag;
    if (field->tag <= static_cast<int>(MetaTag::log)) ++known;
  }
  return known == static_cast<int>(MetaTag::log);
}

// What header and record both say must agree; the rest of the artifact comes from one of them.
bool take_record(ByteSpan record, const EntryHeader& header, Artifact& out) {
  const auto target = key_field(record, KeyTag::target);
  const auto kind = key_field(record, KeyTag::kind);
  const auto schema = key_field(record, KeyTag::schema);
  if (!target || !kind || !schema) return false;
  out.target = header.target;
  out.kind = header.kind;
  out.argument_schema = schema->text();
  return target->text() == header.target.name() &&
         Record::number(*kind) == static_cast<std::uint64_t>(header.kind);
}

ByteSpan record_of(ByteSpan file, const EntryHeader& header) {
  return file.subspan(header.header_bytes, header.record_bytes);
}

ByteSpan metadata_of(ByteSpan file, const EntryHeader& header) {
  return file.subspan(header.header_bytes + header.record_bytes, header.metadata_bytes);
}

// std::ranges::equal goes byte by byte here: 30 us for the 47 KB of a kernel's source.
bool equal(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

// Header, record and metadata of a file whose beginning up to the payload is `head`.
EntryFault decode_head(ByteSpan head, const ArtifactKey* key, const EntryHeader& header,
                       Artifact& out) {
  const ByteSpan covered =
      head.subspan(header.header_bytes, header.payload_offset - header.header_bytes);
  if (xxh3_128(covered) != header.head_checksum) return EntryFault::bad_checksum;
  const ByteSpan record = record_of(head, header);
  const bool same = key != nullptr ? header.key == key->digest && equal(record, key->record.bytes())
                                   : header.key == xxh3_128(record);
  if (!same) return EntryFault::other_key;
  if (!take_record(record, header, out)) return EntryFault::bad_metadata;
  return take_metadata(metadata_of(head, header), out) ? EntryFault::none
                                                       : EntryFault::bad_metadata;
}

EntryFault check_payload(ByteSpan file, const EntryHeader& header) {
  const auto trailer = write_trailer(header.file_bytes);
  if (std::memcmp(file.last(kTrailerBytes).data(), trailer.data(), kTrailerBytes) != 0) {
    return EntryFault::bad_length;
  }
  const ByteSpan payload = file.subspan(header.payload_offset, header.payload_bytes);
  return xxh3_128(payload) == header.payload_checksum ? EntryFault::none : EntryFault::bad_checksum;
}

Result<void> check_agreement(const ArtifactKey& key, const Artifact& artifact) {
  EntryHeader header;
  header.kind = artifact.kind;
  header.target = artifact.target;
  Artifact out;
  if (!artifact.payload.empty() && take_record(key.record.bytes(), header, out) &&
      out.argument_schema == artifact.argument_schema) {
    return {};
  }
  return Error{
      ErrorCode::internal,
      cat("the artifact of ", quote(artifact.spelling), " for ", artifact.target.name(), " with ",
          artifact.payload.size(), " bytes is not what its key ", key.hex(), " names"),
      "please report it with the command or call that led here"};
}

}  // namespace

Result<Bytes> encode_entry(const ArtifactKey& key, const Artifact& artifact) {
  DIECAST_CHECK(check_agreement(key, artifact));
  const Record metadata = metadata_of(artifact);
  const ByteSpan record = key.record.bytes(), payload = artifact.payload;
  EntryHeader header;
  lay_out(header, record.size(), metadata.bytes().size(), payload.size());
  static_assert(kMostTextBytes < kRecordLimit);
  if (record.size() > kRecordLimit || metadata.bytes().size() > kRecordLimit ||
      header.file_bytes > kEntryLimit) {
    return Error{ErrorCode::not_supported,
                 cat("the artifact of ", quote(artifact.spelling), " would make an entry of ",
                     header.file_bytes, " bytes (key ", record.size(), ", metadata ",
                     metadata.bytes().size(), "); the limits are ", kEntryLimit, ", ", kRecordLimit,
                     " and ", kRecordLimit),
                 "it works uncached; a smaller template or fewer values compiled in make it fit"};
  }
  header.kind = artifact.kind;
  header.target = artifact.target;
  header.key = key.digest;
  Bytes out(header.file_bytes);
  std::ranges::copy(record, out.begin() + header.header_bytes);
  std::ranges::copy(metadata.bytes(), out.begin() + header.header_bytes + header.record_bytes);
  std::ranges::copy(payload, out.begin() + static_cast<std::ptrdiff_t>(header.payload_offset));
  const ByteSpan bytes = out;
  header.head_checksum =
      xxh3_128(bytes.subspan(header.header_bytes, header.payload_offset - header.header_bytes));
  header.payload_checksum = xxh3_128(payload);
  std::ranges::copy(write_header(header), out.begin());
  std::ranges::copy(write_trailer(header.file_bytes),
                    out.end() - static_cast<std::ptrdiff_t>(kTrailerBytes));
  return out;
}

DecodedEntry decode_entry(ByteSpan file, const ArtifactKey* key) {
  DecodedEntry out;
  EntryHeader header;
  out.fault = read_header(file, file.size(), header);
  if (out.fault == EntryFault::none) out.fault = check_payload(file, header);
  if (out.fault == EntryFault::none) out.fault = decode_head(file, key, header, out.artifact);
  if (out.fault != EntryFault::none) return out;
  const ByteSpan payload = file.subspan(header.payload_offset, header.payload_bytes);
  out.artifact.payload.assign(payload.begin(), payload.end());
  return out;
}

ByteSpan entry_record(ByteSpan file) {
  EntryHeader header;
  return read_header(file, file.size(), header) == EntryFault::none ? record_of(file, header)
                                                                    : ByteSpan();
}

DecodedSummary decode_summary(ByteSpan head, std::uint64_t file_bytes) {
  DecodedSummary out;
  EntryHeader header;
  Artifact artifact;
  out.fault = read_header(head, file_bytes, header);
  if (out.fault == EntryFault::none && header.payload_offset > head.size()) {
    out.fault = EntryFault::too_short;
  }
  if (out.fault == EntryFault::none) out.fault = decode_head(head, nullptr, header, artifact);
  out.summary = {header.key, artifact.spelling, artifact.compiler, artifact.target, file_bytes, 0};
  return out;
}

std::string_view entry_fault_name(EntryFault fault) {
  static constexpr std::string_view kNames[kEntryFaults] = {
      "none",      "unreadable", "not_a_file", "other_version", "not_private", "too_short",
      "bad_magic", "bad_header", "bad_length", "bad_checksum",  "other_key",   "bad_metadata"};
  return kNames[static_cast<std::size_t>(fault)];
}

}  // namespace diecast
