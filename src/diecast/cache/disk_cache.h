// One root directory of compiled artifacts: v1/<compiler identity>/<2 hex>/<32 hex>.dce. A hint
// store for executable code: every failure is a miss and a counter, never an error of the caller;
// entries are published atomically, verified on every hit, in a directory only its owner can write.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/cache/artifact_key.h>
#include <diecast/cache/entry.h>

namespace diecast {

struct CacheStatistics {
  std::uint64_t hits = 0, misses = 0, publishes = 0, already_there = 0, publish_failures = 0,
                rejected = 0,  // files that were not the entry asked for (EntryFault)
                lock_waits = 0, lock_timeouts = 0;
};

class DiskCache {
 public:
  // $XDG_CACHE_HOME/diecast (if absolute), else $HOME/.cache/diecast; empty if neither is usable.
  // Never /tmp, never the working directory.
  static std::string default_root();

  // Creates the root (0700) when it is missing. Errors: invalid_argument (relative, "/"),
  // unsafe_directory (owner or permissions of the root or of a directory above it, with the exact
  // fix; nothing is changed), io_error.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& root,
                                                 FileSystem& files = system_files());
  ~DiskCache();

  // A verified artifact, or none. `compiler` is the identity level; an empty one asks for any
  // identity that has the key (a machine that serves without a compiler).
  std::optional<Artifact> find(const ArtifactKey& key, const std::string& compiler);

  // Names the entry atomically after its data is synced. "Already there" is success. False on a
  // failure, which is counted: the artifact itself is unharmed. Never re-reads what it wrote.
  bool publish(const ArtifactKey& key, const Artifact& artifact);

  // Single flight across processes: one holder a key. Locks only save work; after `wait` (or if
  // the file system has no locks) the caller goes on without. While waiting, `ready` is asked
  // after each pause; true ends the wait.
  class Lock {
   public:
    Lock() = default;
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&& other) noexcept;
    ~Lock();
    bool held() const { return cache_ != nullptr; }

   private:
    friend class DiskCache;
    DiskCache* cache_ = nullptr;
    std::uint64_t offset_ = 0;
  };
  Lock lock(const ArtifactKey& key, std::chrono::milliseconds wait,
            const std::function<bool()>& ready);

  Result<std::vector<EntrySummary>> list();
  CacheStatistics statistics() const;
  const std::string& root() const { return root_; }

 private:
  struct State;
  DiskCache(std::string root, std::unique_ptr<State> state);
  std::string root_;
  std::unique_ptr<State> state_;
};

}  // namespace diecast
