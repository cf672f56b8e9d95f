// Writing bundles: header, entries, index, footer, each once and in order.
#include <diecast/base/bytes.h>
#include <diecast/base/text.h>
#include <diecast/cache/bundle.h>
#include <diecast/cache/bundle_format.h>
#include <diecast/cache/cache_directory.h>

#include <algorithm>

namespace diecast {
namespace {

using namespace bundle_format;
using little_endian::put;

// The same for every writer: the artifact's entry without the time its compile took.
Result<Bytes> timeless(ByteSpan entry, Digest& key, std::string& compiler) {
  DecodedEntry decoded = decode_entry(entry, nullptr);
  if (decoded.fault != EntryFault::none || !is_compiler_identity(decoded.artifact.compiler)) {
    return Error{ErrorCode::file_corrupt,
                 cat("an entry cannot be bundled: ", entry_fault_name(decoded.fault)),
                 "run `diecast cache verify` and make the bundle again"};
  }
  const ArtifactKey named = key_of(entry_record(entry));
  key = named.digest;
  compiler = decoded.artifact.compiler;
  decoded.artifact.compile_ms = 0;
  return encode_entry(named, decoded.artifact);
}

}  // namespace

Result<BundleWriter> BundleWriter::create(const std::string& path, FileSystem& files) {
  // One that others may write is refused where it is opened.
  DIECAST_TRY(AtomicFile file, AtomicFile::create(files, path, 0755));
  BundleWriter out(std::move(file));
  DIECAST_CHECK(out.write(header()));
  return out;
}

Result<void> BundleWriter::write(ByteSpan bytes) {
  hash_.add(bytes);
  end_ += bytes.size();
  return file_.write(bytes);
}

Result<void> BundleWriter::align() {
  const std::array<std::byte, kEntryAlign> zeros = {};
  return write(ByteSpan(zeros).first(static_cast<std::size_t>(aligned(end_) - end_)));
}

Result<void> BundleWriter::add(ByteSpan entry) {
  Place place;
  DIECAST_TRY(const Bytes bytes, timeless(entry, place.key, place.compiler));
  if (!places_.empty()) {
    const Place& last = places_.back();
    if (last.key == place.key && last.compiler == place.compiler) return {};
    if (last.key > place.key ||
        (last.key == place.key && !is_older_identity(last.compiler, place.compiler))) {
      return Error{ErrorCode::invalid_argument,
                   cat("entry ", place.key.hex(), " of ", place.compiler, " comes after ",
                       last.key.hex(), " of ", last.compiler),
                   "add entries in the order of key, then compiler"};
    }
  }
  if (places_.size() == kMostEntries) {
    return Error{ErrorCode::not_supported, cat("a bundle holds at most ", kMostEntries, " entries"),
                 "make several bundles"};
  }
  place.offset = end_;
  place.bytes = bytes.size();
  DIECAST_CHECK(write(bytes));
  DIECAST_CHECK(align());
  places_.push_back(std::move(place));
  return {};
}

Result<BundleWriter::Written> BundleWriter::commit() {
  std::vector<std::string> compilers;
  for (const Place& place : places_) compilers.push_back(place.compiler);
  std::ranges::sort(compilers, is_older_identity);
  compilers.erase(std::unique(compilers.begin(), compilers.end()), compilers.end());
  Bytes index(places_.size() * kPlaceBytes);
  std::byte* to = index.data();
  for (const Place& place : places_) {
    const auto number = std::ranges::find(compilers, place.compiler) - compilers.begin();
    put(to, place.key);
    put(to + 16, place.offset, 8);
    put(to + 24, place.bytes, 8);
    put(to + 32, static_cast<std::uint64_t>(number), 4);
    to += kPlaceBytes;
  }
  std::string names;
  for (const std::string& name : compilers) names += name + '\n';
  index.insert(index.end(), as_bytes(names).begin(), as_bytes(names).end());
  Footer footer{end_, places_.size(), names.size(), end_ + index.size() + kFooterBytes,
                xxh3_128(index)};
  DIECAST_CHECK(write(index));
  DIECAST_CHECK(write(write_footer(footer)));
  Sha256 whole = hash_;
  const Sha256Digest covered = hash_.finish();
  whole.add(covered);
  DIECAST_CHECK(file_.write(covered));
  DIECAST_CHECK(file_.commit());
  return Written{places_.size(), footer.file_bytes, whole.finish()};
}

}  // namespace diecast
