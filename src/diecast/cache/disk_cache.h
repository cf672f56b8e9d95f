// One root directory of compiled artifacts: v1/<compiler identity>/<2 hex>/<32 hex>.dce. A hint
// store for executable code: every failure is a miss and a counter, never an error of the caller;
// entries are published atomically, verified on every hit, in a directory only its owner can write.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/cache/artifact_key.h>
#include <diecast/cache/entry.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace diecast {

struct CacheStatistics {
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t rejected = 0;  // files that were not the entry asked for; faults by EntryFault
  std::array<std::uint64_t, kEntryFaults> faults = {};
  std::uint64_t publishes = 0;  // of which `replaced` over a damaged file
  std::uint64_t replaced = 0, already_there = 0;
  std::uint64_t publish_failures = 0;
  std::uint64_t publishes_skipped = 0;  // read-only root, or a disk left alone after failures
  std::uint64_t lock_waits = 0, lock_timeouts = 0;
  std::uint64_t lock_failures = 0;  // the file system gave no lock: went on without
};

class DiskCache {
 public:
  // $XDG_CACHE_HOME/diecast (if absolute), else $HOME/.cache/diecast; empty if neither is usable.
  // Never /tmp, never the working directory.
  static std::string default_root();

  // Creates the root (0700) when it or its parent is missing. Errors: invalid_argument (relative,
  // "/", or a directory with other things in it), unsafe_directory (owner or permissions of the
  // root or of a directory above it, with the exact fix; nothing is changed; or a process with more
  // rights than its user), file_not_found, io_error.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& root,
                                                 FileSystem& files = system_files());
  ~DiskCache();

  // A verified artifact, or none. `compiler` is the identity level; an empty one asks for any
  // identity that has the key, the last in the order of names first (a machine that serves without
  // a compiler). A damaged entry is remembered and replaced by this process's next publish.
  std::optional<Artifact> find(const ArtifactKey& key, const std::string& compiler);

  // Names the entry atomically after its data is synced, under artifact.compiler. "Already there"
  // is success. False on a failure, which is counted: the artifact itself is unharmed. Never
  // re-reads what it wrote.
  bool publish(const ArtifactKey& key, const Artifact& artifact);

  // Single flight across threads and processes: one holder a key. Locks only save work; after
  // `wait` (or if the file system has no locks) the caller goes on without. While waiting, `ready`
  // is asked after each pause; true ends the wait. Whoever gets the lock after a wait looks once
  // more: the holder before it may have published.
  class Lock {
   public:
    Lock() = default;
    Lock(Lock&& other) noexcept = default;
    Lock& operator=(Lock&& other) noexcept;
    ~Lock();
    bool held() const { return static_cast<bool>(file_); }

   private:
    friend class DiskCache;
    void release();
    FileSystem* files_ = nullptr;
    Descriptor file_;
    std::uint64_t offset_ = 0;
    pid_t owner_ = 0;  // a forked child's copy must not unlock the key under its parent
  };
  Lock lock(const ArtifactKey& key, std::chrono::milliseconds wait,
            const std::function<bool()>& ready);

  // Every entry whose head is whole, in the order of identity and name. Errors: io_error.
  Result<std::vector<EntrySummary>> list();
  CacheStatistics statistics() const;
  const std::string& root() const { return root_; }
  bool writable() const;

 private:
  struct State;
  DiskCache(std::string root, std::unique_ptr<State> state);
  std::string root_;
  std::unique_ptr<State> state_;
};

}  // namespace diecast
