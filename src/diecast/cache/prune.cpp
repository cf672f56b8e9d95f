// Collecting: what killed writers left goes first, then the least recently used entries. Nothing is
// needed for correctness: a reader has its bytes in memory before it uses them, a writer whose
// temporary is gone counts a failure, and a file that vanished was somebody's collection.
#include <diecast/base/text.h>
#include <diecast/cache/disk_cache_state.h>
#include <diecast/cache/trusted_directory.h>
#include <diecast/cache/walk.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

namespace diecast {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kTemporarySeconds = 3600, kDeadWriterSeconds = 60, kDaySeconds = 86400;
constexpr std::int64_t kOldFormatSeconds = 30 * kDaySeconds;
constexpr std::uint64_t kLowMark = 5;  // a collection goes down to 4/5 of the budget: then it rests

struct Candidate {
  std::string compiler, shard, name;
  FileIdentity file;
  std::int64_t used = 0;
  std::uint64_t bytes = 0;
};

class Collection {
 public:
  Collection(FileSystem& files, const CacheDirectory& directory, const PruneLimits& limits,
             std::string boot)
      : files_(files),
        directory_(directory),
        limits_(limits),
        boot_(std::move(boot)),
        now_(files.now_seconds()),
        end_(Clock::now() + limits.time) {}

  // Looks at every file once, as far as half of the time takes it, and removes stale temporaries on
  // the way; 0 or -errno.
  int scan(const std::string& compiler) {
    const auto end = Clock::now() + limits_.time / 2;
    const auto look_at = [&](const Shard& shard) {
      if (compiler.empty() || shard.compiler == compiler) {
        for (const std::string& name : shard.names) look(shard, name);
      }
      seen_ = shard.place, shards_ = shard.count;
      return Clock::now() < end;
    };
    const int trouble = walk_shards(files_, directory_, look_at, random_bits());
    if (seen_ < shards_) result_.finished = false;
    return trouble;
  }

  void remove_entries(bool everything) {
    std::ranges::sort(found_, {}, &Candidate::used);
    // Keys are spread evenly: the part that was seen may have its part of the budget.
    const std::uint64_t budget = seen_ < shards_ ? limits_.bytes / shards_ * seen_ : limits_.bytes;
    const std::uint64_t target = limits_.bytes != 0 && result_.bytes > budget
                                     ? budget / kLowMark * (kLowMark - 1)
                                     : result_.bytes;
    const bool crowded = limits_.bytes != 0 && result_.bytes > 2 * budget;
    std::uint64_t left = result_.bytes;
    for (const Candidate& entry : found_) {
      const std::int64_t age = now_ - entry.used;
      const bool old = limits_.unused.count() > 0 && age > limits_.unused.count();
      if (!everything && !old && left <= target) break;
      if (!everything && !crowded && age < limits_.young.count()) {
        ++result_.young;
        continue;
      }
      if (out_of_bounds()) return;
      if (remove(entry)) left -= std::min(left, entry.bytes);
    }
  }

  // What a format before ours has left and nobody has used for a month.
  void remove_old_formats() {
    for (const CacheDirectory& older : directory_.older()) {
      walk_shards(files_, older, [&](const Shard& shard) {
        for (const std::string& name : shard.names) remove_old(shard.folder, name);
        return !out_of_bounds();
      });
      remove_empty_folders(older);
    }
  }

  void remove_empty_folders() { remove_empty_folders(directory_); }

  const PruneResult& result() const { return result_; }

 private:
  void look(const Shard& shard, const std::string& name) {
    const auto temporary = parse_temporary_name(name);
    if (!temporary && !is_entry_name(name)) return;  // not ours
    struct stat status;
    if (files_.status_at(shard.folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return;
    if (!S_ISREG(status.st_mode) || !is_private(status)) return;
    const std::int64_t used = std::min<std::int64_t>(status.st_mtim.tv_sec, now_);
    if (temporary) {
      if (is_stale(*temporary, now_ - used) && !limits_.dry_run && !out_of_bounds() &&
          files_.unlink_at(shard.folder, name.c_str(), 0) >= 0) {
        ++result_.temporaries;
      }
      return;
    }
    const auto bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
    ++result_.entries;
    result_.bytes += bytes;
    found_.push_back({shard.compiler, shard.name, name, FileIdentity::of(status), used, bytes});
  }

  void remove_old(int folder, const std::string& name) {
    struct stat status;
    if (limits_.dry_run || out_of_bounds()) return;
    if (!parse_temporary_name(name) && !is_entry_name(name)) return;
    if (files_.status_at(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return;
    if (!S_ISREG(status.st_mode) || now_ - status.st_mtim.tv_sec <= kOldFormatSeconds) return;
    if (files_.unlink_at(folder, name.c_str(), 0) < 0) return;
    ++result_.removed;
    result_.removed_bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }

  // Folders that nothing is in, and was not in lately; one that is being filled refuses, one too
  // early gone is made again.
  void remove_empty_folders(const CacheDirectory& directory) {
    if (limits_.dry_run) return;
    const auto remove = [&](int parent, const std::string& name) {
      struct stat status;
      if (files_.status_at(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return;
      const std::int64_t age = now_ - status.st_mtim.tv_sec;
      if (limits_.young.count() > 0 && age < kTemporarySeconds) return;
      files_.unlink_at(parent, name.c_str(), AT_REMOVEDIR);
    };
    for (const std::string& compiler : directory.compilers()) {
      const Descriptor identity = directory.folder(directory.versions(), compiler.c_str(), false);
      if (!identity) continue;
      std::vector<std::string> shards;
      files_.list_directory(identity.number(), [&](const char* name) {
        if (is_shard_name(name)) shards.emplace_back(name);
        return true;
      });
      for (const std::string& shard : shards) remove(identity.number(), shard);
      remove(directory.versions(), compiler);
    }
  }

  // A dead writer's is stale after a minute, not at once: its number may belong to a process of
  // another container on this machine, which we cannot see.
  bool is_stale(const TemporaryName& name, std::int64_t age) const {
    if (limits_.young.count() == 0) return true;  // clear
    if (age > kTemporarySeconds) return true;
    const bool dead = name.boot == boot_ && ::kill(name.process, 0) != 0 && errno == ESRCH;
    return dead && age > kDeadWriterSeconds;
  }

  bool out_of_bounds() {
    if (result_.removed + result_.temporaries < limits_.most && Clock::now() < end_) return false;
    result_.finished = false;
    return true;
  }

  // Only the file that was looked at: a reader may have replaced it or marked it as used.
  bool remove(const Candidate& entry) {
    if (!limits_.dry_run) {
      const Descriptor identity =
          directory_.folder(directory_.versions(), entry.compiler.c_str(), false);
      const Descriptor shard =
          identity ? directory_.folder(identity.number(), entry.shard.c_str(), false)
                   : Descriptor(files_, -ENOENT);
      struct stat status;
      int gone =
          shard ? files_.status_at(shard.number(), entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW)
                : shard.number();
      if (gone >= 0 && FileIdentity::of(status) != entry.file) return false;
      if (gone >= 0) gone = files_.unlink_at(shard.number(), entry.name.c_str(), 0);
      if (gone == -ENOENT || gone == -ESTALE) return true;  // somebody else's work
      if (gone < 0) {
        ++result_.kept;
        return false;
      }
    }
    ++result_.removed;
    result_.removed_bytes += entry.bytes;
    return true;
  }

  FileSystem& files_;
  const CacheDirectory& directory_;
  const PruneLimits limits_;
  const std::string boot_;
  const std::int64_t now_;
  const Clock::time_point end_;
  std::size_t seen_ = 0, shards_ = 0;
  std::vector<Candidate> found_;
  PruneResult result_;
};

int open_gc(FileSystem& files, const CacheDirectory& directory) {
  return files.open_at(directory.versions(), "gc", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                       0600);
}

}  // namespace

Result<PruneResult> DiskCache::State::collect(const std::string& root, const PruneLimits& limits,
                                              const std::string& compiler, bool everything) {
  const auto opened = directory();
  if (!opened->writable()) {
    return Error{ErrorCode::invalid_argument,
                 cat("the cache root ", quote(root, 1000), " is only read here"),
                 "collect it as the user who owns it"};
  }
  const Descriptor gc(files, open_gc(files, *opened));
  const bool full = gc.number() == -ENOSPC || gc.number() == -EDQUOT;  // who else makes room
  if (!gc && !full) return file_error("open", cat(root, "/v1/gc"), gc.number());
  PruneResult busy;
  busy.busy = true;
  const int locked = gc ? files.try_lock(gc.number(), 0, 1) : gc.number();
  if (locked == -EAGAIN) return busy;  // without locks everybody collects: harmless
  Collection collection(files, *opened, limits, writer.boot());
  const int trouble = collection.scan(compiler);
  collection.remove_entries(everything);
  collection.remove_old_formats();
  collection.remove_empty_folders();
  if (!limits.dry_run) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {files.now_seconds(), 0}};
    if (gc) files.set_times(gc.number(), times);
    published_bytes = 0;
  }
  if (locked >= 0) files.unlock(gc.number(), 0, 1);
  if (trouble < 0) return file_error("list", root, trouble);
  return collection.result();
}

Result<PruneResult> DiskCache::prune(const PruneLimits& limits) {
  return state_->collect(root_, limits, "", /*everything=*/false);
}

Result<PruneResult> DiskCache::clear(const std::string& compiler) {
  PruneLimits limits;
  limits.young = std::chrono::seconds(0);
  limits.most = SIZE_MAX;
  limits.time = std::chrono::hours(1);
  return state_->collect(root_, limits, compiler, /*everything=*/true);
}

bool DiskCache::prune_due(std::uint64_t budget) {
  State& state = *state_;
  const auto directory = state.directory();
  if (budget == 0 || !state.may_write(*directory) || state.published_bytes == 0) return false;
  if (state.published_bytes >= budget / 64) return true;
  if (state.asked_when_collected.exchange(true)) return false;
  struct stat status;
  const int found =
      state.files.status_at(directory->versions(), "gc", &status, AT_SYMLINK_NOFOLLOW);
  if (found < 0) {  // a new root: its first day begins
    const Descriptor gc(state.files, open_gc(state.files, *directory));
    return false;
  }
  const std::int64_t age = state.files.now_seconds() - status.st_mtim.tv_sec;
  return age > kDaySeconds || age < -kDaySeconds;
}

}  // namespace diecast
