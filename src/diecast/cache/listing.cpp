// Listing a root: every entry's head is read and checked, no payload is. Names that are not ours
// (temporaries, what a network file system leaves) are passed over, never touched.
#include <diecast/cache/disk_cache_state.h>
#include <diecast/cache/entry_file.h>
#include <diecast/cache/entry_header.h>
#include <diecast/cache/walk.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <tuple>

namespace diecast {
namespace {

EntryFile open_entry_of(FileSystem& files, int shard, const char* name) {
  return open_entry_file(files, [&] {
    return Descriptor(files, files.open_at(shard, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0));
  });
}

std::optional<EntrySummary> summarize(FileSystem& files, int shard, const char* name) {
  const EntryFile entry = open_entry_of(files, shard, name);
  if (entry.fault != EntryFault::none) return std::nullopt;
  const int file = entry.file.number();
  const auto size = static_cast<std::uint64_t>(entry.status.st_size);
  Bytes head(static_cast<std::size_t>(std::min<std::uint64_t>(size, 4096)));
  EntryHeader header;
  if (read_exactly(files, file, head.data(), head.size(), 0) < 0 ||
      read_header(head, size, header) != EntryFault::none) {
    return std::nullopt;
  }
  const std::size_t have = head.size();
  if (header.payload_offset > have) {
    head.resize(header.payload_offset);
    if (read_exactly(files, file, head.data() + have, head.size() - have, have) < 0) {
      return std::nullopt;
    }
  }
  DecodedSummary decoded = decode_summary(head, size);
  if (decoded.fault != EntryFault::none || name != entry_name(decoded.summary.digest)) {
    return std::nullopt;
  }
  decoded.summary.used_seconds = entry.status.st_mtim.tv_sec;
  return std::move(decoded.summary);
}

}  // namespace

Result<void> DiskCache::read_all(const std::function<void(const StoredEntry&)>& each) {
  FileSystem& files = state_->files;
  const int trouble = walk_shards(files, *state_->directory(), [&](const Shard& shard) {
    for (const std::string& name : shard.names) {
      if (!is_entry_name(name)) continue;
      EntryFile entry = open_entry_of(files, shard.folder, name.c_str());
      Bytes bytes;
      StoredEntry stored{shard.compiler, name, read_entry_file(files, entry, nullptr, bytes),
                         bytes};
      EntryFault& fault = stored.decoded.fault;
      struct stat status;
      if (fault == EntryFault::unreadable &&
          files.status_at(shard.folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == -ENOENT) {
        continue;  // somebody has removed it since it was listed
      }
      if (!shard.is_private) fault = EntryFault::not_private;
      if (fault == EntryFault::none && (stored.decoded.artifact.compiler != shard.compiler ||
                                        entry_name(xxh3_128(entry_record(bytes))) != name)) {
        fault = EntryFault::other_key;
      }
      each(stored);
    }
    return true;
  });
  if (trouble < 0) return unread(root_, root_, trouble);
  return {};
}

Result<std::vector<EntrySummary>> DiskCache::list() {
  FileSystem& files = state_->files;
  std::vector<EntrySummary> out;
  const int trouble = walk_shards(files, *state_->directory(), [&](const Shard& shard) {
    for (const std::string& name : shard.names) {
      if (!is_entry_name(name) || !shard.is_private) continue;
      if (auto summary = summarize(files, shard.folder, name.c_str())) {
        out.push_back(*std::move(summary));
      }
    }
    return true;
  });
  if (trouble < 0) return unread(root_, root_, trouble);
  std::ranges::sort(
      out, {}, [](const EntrySummary& entry) { return std::tie(entry.compiler, entry.digest); });
  return out;
}

}  // namespace diecast
