// Reading bundles. Every number of the index is checked against the file's real size, by
// subtraction, before anybody follows it; entries go through the same decoder as files do.
#include <diecast/base/bytes.h>
#include <diecast/base/text.h>
#include <diecast/cache/bundle.h>
#include <diecast/cache/bundle_format.h>
#include <diecast/cache/cache_directory.h>
#include <diecast/cache/trusted_directory.h>

#include <algorithm>
#include <tuple>

namespace diecast {
namespace {

using namespace bundle_format;
using little_endian::take;

constexpr std::size_t kPiece = 1u << 20;

// The SHA-256 of the file's first `bytes` bytes, taken in pieces.
Result<Sha256Digest> hash_file(FileSystem& files, int file, const std::string& path,
                               std::uint64_t bytes) {
  Sha256 hash;
  Bytes piece(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kPiece)));
  for (std::uint64_t at = 0; at < bytes;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - at, kPiece));
    if (const int result = read_exactly(files, file, piece.data(), size, at); result < 0) {
      return file_error("read", path, result);
    }
    hash.add(ByteSpan(piece).first(size));
    at += size;
  }
  return hash.finish();
}

}  // namespace

Error Bundle::corrupt(std::string_view what) const {
  return {ErrorCode::file_corrupt, cat("the bundle ", quote(path_, 1000), " is damaged: ", what),
          "copy it again from where it was made, or make it anew with `diecast bundle create`"};
}

Error Bundle::corrupt(const Digest& key, EntryFault fault) const {
  return corrupt(cat("entry ", key.hex(), ": ", entry_fault_name(fault)));
}

Result<std::unique_ptr<Bundle>> Bundle::open(const std::string& path,
                                             const std::optional<Sha256Digest>& pin,
                                             FileSystem& files) {
  DIECAST_CHECK(check_own_rights());
  std::unique_ptr<Bundle> out(new Bundle(files, path));
  DIECAST_TRY(out->file_, open_trusted_file(files, path));
  struct stat status;
  if (const int result = files.status(out->file_.number(), &status); result < 0) {
    return file_error("read", path, result);
  }
  out->file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  if (pin) {
    DIECAST_TRY(const Sha256Digest found,
                hash_file(files, out->file_.number(), path, out->file_bytes_));
    if (found != *pin) {
      return Error{ErrorCode::file_corrupt,
                   cat("the bundle ", quote(path, 1000), " has the SHA-256 ", hex(found),
                       ", pinned is ", hex(*pin)),
                   "give the pin of this bundle (`sha256sum FILE`), or the bundle of this pin"};
    }
  }
  DIECAST_CHECK(out->read_index());
  return out;
}

Result<void> Bundle::read_index() {
  if (file_bytes_ < kBundleHeaderBytes + kFooterBytes) return corrupt("it is too short");
  Bytes ends(kBundleHeaderBytes + kFooterBytes);
  const auto take_bytes = [&](std::byte* to, std::size_t size, std::uint64_t offset) {
    return read_exactly(files_, file_.number(), to, size, offset);
  };
  int result = take_bytes(ends.data(), kBundleHeaderBytes, 0);
  if (result >= 0) {
    result = take_bytes(ends.data() + kBundleHeaderBytes, kFooterBytes, file_bytes_ - kFooterBytes);
  }
  if (result < 0) return file_error("read", path_, result);
  const auto ours = header();
  const auto major = take<std::uint16_t>(ends.data() + 8);
  const auto known = take<std::uint16_t>(ours.data() + 8);
  if (std::equal(ours.begin(), ours.begin() + 8, ends.begin()) && major != known) {
    return Error{ErrorCode::not_supported,
                 cat("the bundle ", quote(path_, 1000), " is of format ", major,
                     ", this diecast reads ", known),
                 "use the diecast that made it, or make it anew with `diecast bundle create`"};
  }
  if (!std::ranges::equal(ByteSpan(ends).first(kBundleHeaderBytes), ours)) {
    return corrupt("it does not begin like a bundle of this version");
  }
  Footer footer;
  if (!read_footer(ByteSpan(ends).subspan(kBundleHeaderBytes), footer)) {
    return corrupt("it does not end like a bundle");
  }
  const std::uint64_t before = file_bytes_ - kFooterBytes;  // what the index must end at
  const bool fits =
      footer.file_bytes == file_bytes_ && footer.entries <= kMostEntries &&
      footer.compiler_bytes <= kMostCompilerBytes && footer.index_offset >= kBundleHeaderBytes &&
      footer.index_offset <= before &&
      before - footer.index_offset == footer.entries * kPlaceBytes + footer.compiler_bytes;
  if (!fits) return corrupt("the lengths of its index do not fit its size");
  Bytes index(static_cast<std::size_t>(before - footer.index_offset));
  result = take_bytes(index.data(), index.size(), footer.index_offset);
  if (result < 0) return file_error("read", path_, result);
  if (xxh3_128(index) != footer.checksum) return corrupt("its index has another checksum");
  const auto places = static_cast<std::size_t>(footer.entries * kPlaceBytes);
  DIECAST_CHECK(parse_index(ByteSpan(index).first(places), ByteSpan(index).subspan(places)));
  const std::uint64_t end =
      index_.empty() ? kBundleHeaderBytes : aligned(index_.back().offset + index_.back().bytes);
  return end == footer.index_offset ? Result<void>()
                                    : corrupt("its entries do not reach its index");
}

Result<void> Bundle::parse_index(ByteSpan index, ByteSpan names) {
  const std::string_view text(reinterpret_cast<const char*>(names.data()), names.size());
  for (const std::string_view name :
       split(text.substr(0, text.empty() ? 0 : text.size() - 1), '\n')) {
    if (text.empty()) break;
    if (!is_compiler_identity(name)) return corrupt("a compiler's name in it is none");
    compilers_.emplace_back(name);
  }
  std::uint64_t next = kBundleHeaderBytes;
  for (; !index.empty(); index = index.subspan(kPlaceBytes)) {
    const std::byte* from = index.data();
    const Place place{little_endian::take_digest(from), take<std::uint64_t>(from + 16),
                      take<std::uint64_t>(from + 24), take<std::uint32_t>(from + 32)};
    const bool ordered = index_.empty() || std::tie(index_.back().key, index_.back().compiler) <
                                               std::tie(place.key, place.compiler);
    if (!ordered || place.compiler >= compilers_.size() || take<std::uint32_t>(from + 36) != 0 ||
        place.offset != next || place.bytes == 0 || place.bytes > kEntryLimit ||
        place.bytes > file_bytes_ - next) {
      return corrupt(cat("entry ", index_.size(), " of its index makes no sense"));
    }
    next = aligned(next + place.bytes);
    if (next > file_bytes_) return corrupt("its entries do not fit into it");
    index_.push_back(place);
  }
  return {};
}

DecodedEntry Bundle::read(const Place& place, const ArtifactKey* key, Bytes& bytes) {
  bytes.resize(static_cast<std::size_t>(place.bytes));
  DecodedEntry out;
  out.fault = EntryFault::unreadable;
  if (read_exactly(files_, file_.number(), bytes.data(), bytes.size(), place.offset) < 0)
    return out;
  out = decode_entry(bytes, key);
  const bool named =
      key != nullptr || out.fault != EntryFault::none || xxh3_128(entry_record(bytes)) == place.key;
  if (out.fault == EntryFault::none &&
      (!named || out.artifact.compiler != compilers_[place.compiler])) {
    out.fault = EntryFault::other_key;
  }
  return out;
}

std::vector<Bundle::Place> Bundle::places_of(const ArtifactKey& key,
                                             const std::string& compiler) const {
  std::vector<Place> out;
  auto place = std::ranges::upper_bound(index_, key.digest, {}, &Place::key);
  while (place != index_.begin() && (--place)->key == key.digest) {
    if (compiler.empty() || compilers_[place->compiler] == compiler) out.push_back(*place);
  }
  return out;
}

std::optional<Artifact> Bundle::find(const ArtifactKey& key, const std::string& compiler,
                                     const Artifact* refused) {
  for (const Place& place : places_of(key, compiler)) {
    Bytes bytes;
    DecodedEntry decoded = read(place, &key, bytes);
    if (decoded.fault != EntryFault::none) {
      ++rejected_;
    } else if (refused == nullptr || decoded.artifact.payload != refused->payload) {
      ++hits_;
      return std::move(decoded.artifact);
    }
  }
  return std::nullopt;
}

Result<void> Bundle::check(const ArtifactKey& key, const std::string& compiler) {
  for (const Place& place : places_of(key, compiler)) {
    Bytes bytes;
    const EntryFault fault = read(place, &key, bytes).fault;
    if (fault != EntryFault::none) return corrupt(key.digest, fault);
  }
  return {};
}

void Bundle::read_all(const std::function<void(const Stored&)>& each) {
  for (const Place& place : index_) {
    Bytes bytes;
    Stored stored{place.key, compilers_[place.compiler], read(place, nullptr, bytes), bytes};
    stored.file = bytes;
    each(stored);
  }
}

Result<Sha256Digest> Bundle::verify() {
  std::optional<Error> damaged;
  read_all([&](const Stored& stored) {
    if (stored.decoded.fault == EntryFault::none || damaged) return;
    damaged = corrupt(stored.key, stored.decoded.fault);
  });
  if (damaged) return *std::move(damaged);
  const std::uint64_t covered = file_bytes_ - (kFooterBytes - kCovered);
  DIECAST_TRY(const Sha256Digest found, hash_file(files_, file_.number(), path_, covered));
  Sha256Digest own;
  if (const int result = read_exactly(files_, file_.number(), own.data(), own.size(), covered);
      result < 0) {
    return file_error("read", path_, result);
  }
  if (found != own) return corrupt("its SHA-256 is not the one at its end");
  return hash_file(files_, file_.number(), path_, file_bytes_);
}

}  // namespace diecast
