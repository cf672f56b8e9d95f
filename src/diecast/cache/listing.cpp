// Listing a root: every entry's head is read and checked, no payload is. Names that are not ours
// (temporaries, what a network file system leaves) are passed over, never touched.
#include <diecast/base/text.h>
#include <diecast/cache/disk_cache_state.h>
#include <diecast/cache/entry_header.h>
#include <diecast/cache/trusted_directory.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <tuple>

namespace diecast {
namespace {

std::optional<EntrySummary> summarize(FileSystem& files, int shard, const char* name) {
  const Descriptor file(files, files.open_at(shard, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0));
  struct stat status;
  if (!file || files.status(file.number(), &status) < 0 || !S_ISREG(status.st_mode) ||
      !is_private(status)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  Bytes head(static_cast<std::size_t>(std::min<std::uint64_t>(size, 4096)));
  EntryHeader header;
  if (read_exactly(files, file.number(), head.data(), head.size(), 0) < 0 ||
      read_header(head, size, header) != EntryFault::none) {
    return std::nullopt;
  }
  const std::size_t have = head.size();
  if (header.payload_offset > have) {
    head.resize(header.payload_offset);
    if (read_exactly(files, file.number(), head.data() + have, head.size() - have, have) < 0) {
      return std::nullopt;
    }
  }
  DecodedSummary decoded = decode_summary(head, size);
  if (decoded.fault != EntryFault::none || name != entry_name(decoded.summary.digest)) {
    return std::nullopt;
  }
  decoded.summary.used_seconds = status.st_mtim.tv_sec;
  return std::move(decoded.summary);
}

}  // namespace

Result<std::vector<EntrySummary>> DiskCache::list() {
  FileSystem& files = state_->files;
  const auto directory = state_->directory();
  std::vector<EntrySummary> out;
  int trouble = 0;
  const auto each_of = [&](int folder, const auto& each) {
    const int listed = files.list_directory(folder, [&](const char* name) {
      each(name);
      return true;
    });
    if (listed < 0 && listed != -ENOENT) trouble = listed;
  };
  for (const std::string& compiler : directory->compilers()) {
    const Descriptor identity = directory->folder(directory->versions(), compiler.c_str(), false);
    if (!identity) continue;
    each_of(identity.number(), [&](const char* shard_text) {
      if (!is_shard_name(shard_text)) return;
      const Descriptor shard = directory->folder(identity.number(), shard_text, false);
      if (!shard) return;
      each_of(shard.number(), [&](const char* name) {
        if (!is_entry_name(name)) return;
        if (auto summary = summarize(files, shard.number(), name)) {
          out.push_back(*std::move(summary));
        }
      });
    });
  }
  if (trouble < 0) return file_error("list", root_, trouble);
  std::ranges::sort(
      out, {}, [](const EntrySummary& entry) { return std::tie(entry.compiler, entry.digest); });
  return out;
}

}  // namespace diecast
