// What a DiskCache holds, shared by its source files. All of it may be used from any thread.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/cache/cache_directory.h>
#include <diecast/cache/disk_cache.h>
#include <diecast/cache/pause.h>
#include <diecast/cache/publish.h>

#include <array>
#include <atomic>
#include <bitset>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace diecast {

struct DiskCache::State {
  State(FileSystem& the_files, CacheDirectory opened, RootAccess the_access)
      : files(the_files),
        writer(the_files),
        current(std::make_shared<const CacheDirectory>(std::move(opened))),
        access(the_access) {}

  std::shared_ptr<const CacheDirectory> directory() {
    std::lock_guard guard(mutex);
    return current;
  }
  bool may_write(const CacheDirectory& directory) {
    return directory.writable() && !writes.active(files.now_seconds());
  }
  Result<PruneResult> collect(const std::string& root, const PruneLimits& limits,
                              const std::string& compiler, bool everything);
  void count(EntryFault fault) { ++faults[static_cast<std::size_t>(fault)]; }

  // A root that was removed under us is created again, at most once a minute.
  void reopen(const std::string& root);

  // Damaged files this process has met, by "<identity>/<name>".
  void remember_damage(const std::string& entry, const FileIdentity& file);
  std::optional<FileIdentity> take_damage(const std::string& entry);
  // Whether nobody else may write the folders of a key; asked of the disk once a folder.
  bool is_private_path(const CacheDirectory& directory, const std::string& compiler,
                       const Digest& digest);
  // Names of entries that something has which is to be left alone, until one is a hit.
  void remember_taken(const std::string& entry);
  void forget_taken(const std::string& entry);
  bool is_taken(const std::string& entry);

  FileSystem& files;
  EntryWriter writer;
  Pause reads, writes;

  ForkSafe<std::mutex> mutex;  // of the next six; never held during a call to the file system
  std::shared_ptr<const CacheDirectory> current;
  std::map<std::string, FileIdentity> damaged;
  std::set<std::string> taken;
  std::map<std::string, std::bitset<256>> private_shards;  // by compiler
  std::int64_t reopened = 0;

  const RootAccess access;
  std::atomic<std::uint64_t> published_bytes = 0;  // since this process's last collection
  std::atomic<bool> asked_when_collected = false;

  std::atomic<std::uint64_t> refused = 0, hits = 0, misses = 0, publishes = 0, replaced = 0,
                             already_there = 0, publish_failures = 0, publishes_skipped = 0,
                             lock_waits = 0, lock_timeouts = 0, lock_failures = 0;
  std::atomic<int> publish_error = 0;
  std::array<std::atomic<std::uint64_t>, kEntryFaults> faults = {};
};

}  // namespace diecast
