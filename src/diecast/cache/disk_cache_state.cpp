// What a process knows of a root from what it has met there: see disk_cache_state.h.
#include <diecast/cache/disk_cache_state.h>

#include <utility>

namespace diecast {
namespace {

constexpr std::int64_t kReopenSeconds = 60;
constexpr std::size_t kRemembered = 4096;  // of each kind at once

}  // namespace

void DiskCache::State::reopen(const std::string& root) {
  const std::int64_t now = files.now_seconds();
  {
    std::lock_guard guard(mutex);
    if (now - reopened < kReopenSeconds && now >= reopened) return;
    reopened = now;
  }
  Result<CacheDirectory> opened = CacheDirectory::open(files, root, access);
  if (!opened) return;
  auto fresh = std::make_shared<const CacheDirectory>(*std::move(opened));
  std::lock_guard guard(mutex);
  current = std::move(fresh);
}

void DiskCache::State::remember_damage(const std::string& entry, const FileIdentity& file) {
  std::lock_guard guard(mutex);
  if (damaged.size() < kRemembered) damaged[entry] = file;
}

bool DiskCache::State::is_private_path(const CacheDirectory& directory, const std::string& compiler,
                                       const Digest& digest) {
  const std::size_t shard = digest.high >> 56;
  {
    std::lock_guard guard(mutex);
    const auto known = private_shards.find(compiler);
    if (known != private_shards.end() && known->second[shard]) return true;
  }
  if (!directory.is_private_path(compiler, digest)) return false;
  std::lock_guard guard(mutex);
  private_shards[compiler].set(shard);
  return true;
}

void DiskCache::State::remember_taken(const std::string& entry) {
  std::lock_guard guard(mutex);
  if (taken.size() < kRemembered) taken.insert(entry);
}

void DiskCache::State::forget_taken(const std::string& entry) {
  std::lock_guard guard(mutex);
  taken.erase(entry);
}

bool DiskCache::State::is_taken(const std::string& entry) {
  std::lock_guard guard(mutex);
  return taken.contains(entry);
}

std::optional<FileIdentity> DiskCache::State::take_damage(const std::string& entry) {
  std::lock_guard guard(mutex);
  const auto found = damaged.find(entry);
  if (found == damaged.end()) return std::nullopt;
  const FileIdentity file = found->second;
  damaged.erase(found);
  return file;
}

}  // namespace diecast
