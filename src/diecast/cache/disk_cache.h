// One root directory of compiled artifacts: v1/<compiler identity>/<2 hex>/<32 hex>.dce. It is a
// store of hints for executable code: every failure is a miss and a counter, never an error of the
// caller. Entries are published atomically and verified on every hit, in a directory that only its
// owner can write.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/cache/artifact_key.h>
#include <diecast/cache/cache_directory.h>
#include <diecast/cache/entry.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
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
  // The last failure's -errno; 0: none, or it was not the disk's. -ENOTDIR: a folder of the key is
  // a link, a file, or others may write it. -EEXIST: something that is no entry has its name.
  int publish_error = 0;
  // Read-only root, a disk left alone after failures, or one so slow that too many were waiting.
  std::uint64_t publishes_skipped = 0;
  std::uint64_t lock_waits = 0, lock_timeouts = 0;
  std::uint64_t lock_failures = 0;  // the file system gave no lock: went on without
  std::uint64_t refused = 0;        // good entries that a device did not take
};

// Named numbers; a name is of a-z and _, at most 40 of them.
using Counts = std::map<std::string, std::uint64_t>;

// The limits of a collection: which entries it keeps, and how much it does. The next collection
// does what this one did not get to.
struct PruneLimits {
  std::uint64_t bytes = 2ull << 30;      // of all entries on disk; 0: no limit
  std::chrono::seconds unused{0};        // entries not used for longer go too; 0: they stay
  std::chrono::seconds young{600};       // newer entries stay, up to twice `bytes`
  std::size_t most = 10000;              // files removed
  std::chrono::milliseconds time{2000};  // half of it for looking
  bool dry_run = false;
};

struct PruneResult {
  std::uint64_t entries = 0, bytes = 0;          // found in time; bytes as the disk counts them
  std::uint64_t removed = 0, removed_bytes = 0;  // of old formats too, which are no entries
  std::uint64_t temporaries = 0;
  std::uint64_t kept = 0;   // that the disk did not let go
  std::uint64_t young = 0;  // that had to go but for their age
  bool busy = false;        // another process is collecting: nothing was done
  bool finished = true;     // false: a bound was met first
};

// An entry's file as it was read by DiskCache::read_all.
struct StoredEntry {
  std::string compiler, name;  // its folder and its file name
  DecodedEntry decoded;        // other_key: not the entry that folder and name say
  ByteSpan file;               // all its bytes
};

// A cache root that is open. Any number of threads may use one at the same time.
class DiskCache {
 public:
  // The root is $XDG_CACHE_HOME/diecast (if absolute), else $HOME/.cache/diecast; it is empty if
  // neither is usable. It is never /tmp and never the working directory.
  static std::string default_root();

  // Opens a root. `create` makes it (0700) if it or its parent is missing; with `read` nothing in
  // it is ever created, locked, touched or written. Errors: invalid_argument (relative, "/", or a
  // directory with other things in it), unsafe_directory (owner or permissions of the root or of a
  // directory above it, with the exact fix; nothing is changed; or a process with more rights than
  // its user), file_not_found, io_error.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& root,
                                                 FileSystem& files = system_files(),
                                                 RootAccess access = RootAccess::create);
  ~DiskCache();

  // Finds a verified artifact, or none. `compiler` is the identity level; an empty one asks for any
  // identity that has the key, the newest first (a machine that serves without a compiler). A
  // damaged entry is remembered and replaced by this process's next publish; so is one whose code
  // equals `refused`, which a device did not take.
  std::optional<Artifact> find(const ArtifactKey& key, const std::string& compiler,
                               const Artifact* refused = nullptr);

  // Says whether a file has the entry's name, whatever it holds. Processes that wait for an entry
  // ask this; it is not counted.
  bool has_file(const ArtifactKey& key, const std::string& compiler) const;

  // Names the entry atomically after its data is synced, under artifact.compiler. "Already there"
  // is success. It returns false on a failure, which is counted; the artifact itself is unharmed.
  // It never re-reads what it wrote.
  bool publish(const ArtifactKey& key, const Artifact& artifact);

  // Tries whether an entry could be written now: it writes and removes the bytes of a large one.
  // Errors: io_error with the reason; a root that refuses is then not written for a while.
  Result<void> check_writing();

  // Counts a publication that its caller left out.
  void skip_publish();

  // Marks the entry that is there now, whatever it holds: this process's next publish replaces it.
  void supersede(const ArtifactKey& key, const std::string& compiler);

  // A lock on a key, across threads and processes: one holder a key. Locks only save work: after
  // `wait` (or if the file system has no locks) the caller goes on without one. While it waits it
  // calls `ready` after each pause; true ends the wait. Whoever gets the lock after a wait looks
  // once more, because the holder before it may have published.
  class Lock {
   public:
    Lock();
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&& other) noexcept;
    ~Lock();
    bool held() const;  // never of a forked child's copy

   private:
    friend class DiskCache;
    struct Held;
    std::unique_ptr<Held> held_;
  };
  Lock lock(const ArtifactKey& key, std::chrono::milliseconds wait,
            const std::function<bool()>& ready);

  // Lists every entry whose head is whole, in the order of identity and name. Errors: io_error.
  Result<std::vector<EntrySummary>> list();
  // Reads and checks every file that has an entry's name, whole. Errors: io_error.
  Result<void> read_all(const std::function<void(const StoredEntry&)>& each);

  // Removes the least recently used entries until `limits` hold, and files that killed writers
  // left. There is one collector at a time; readers and writers are not disturbed. It touches only
  // names of ours. Errors: io_error; invalid_argument in a root that is only read.
  Result<PruneResult> prune(const PruneLimits& limits);
  // Removes all entries (of one compiler, if named) and temporaries, young ones too.
  Result<PruneResult> clear(const std::string& compiler = "");
  // Says whether this process has published a 64th of `budget` since its last collection, or nobody
  // has collected for a day.
  bool prune_due(std::uint64_t budget);

  CacheStatistics statistics() const;  // of this object

  // Adds to the sums in the root, which show people what ended processes did. It never waits for
  // more than two milliseconds. False: the root is not written or busy, and the counts are lost.
  bool add_counts(const Counts& counts);
  Counts counts() const;  // the sums; empty where there are none or the disk lost them

  const std::string& root() const { return root_; }
  bool writable() const;

 private:
  struct State;
  DiskCache(std::string root, std::unique_ptr<State> state);
  std::string root_;
  std::unique_ptr<State> state_;
};

}  // namespace diecast
