// Finding and publishing entries. The order of checks in a lookup: those of the file where it is
// opened, the folders above it, then decode_entry on a private copy (entry_file.h).
#include <diecast/base/text.h>
#include <diecast/cache/disk_cache_state.h>
#include <diecast/cache/entry_file.h>
#include <errno.h>
#include <fcntl.h>

#include <utility>

namespace diecast {
namespace {

constexpr std::int64_t kTouchSeconds = 6 * 3600;

bool is_absent(int error) { return error == -ENOENT || error == -ENOTDIR; }

EntryFile open_entry(FileSystem& files, const CacheDirectory& directory, std::string_view compiler,
                     const Digest& digest) {
  return open_entry_file(files, [&] { return directory.entry(compiler, digest); });
}

// Who may read it is a file's own matter, and says nothing about the disk.
bool may_not_be_read(int error) { return error == -EACCES || error == -EPERM; }

// Whether what has the name is there for good. A disk in trouble, or too many open files, is over
// in a moment: then it may well be the entry.
bool stays(EntryFault fault, int error) {
  return fault != EntryFault::unreadable || may_not_be_read(error);
}

// The time of the last change is the clock of "least recently used". Written seldom; a time far in
// the future is set right, or its entry would never be the least recent.
void touch(FileSystem& files, const EntryFile& entry, Pause& writes) {
  const std::int64_t now = files.now_seconds(), last = entry.status.st_mtim.tv_sec;
  if (last >= now - kTouchSeconds && last <= now + kTouchSeconds) return;
  const struct timespec times[2] = {{0, UTIME_OMIT}, {now, 0}};
  const int result = files.set_times(entry.file.number(), times);
  if (result == -EROFS) writes.stop();
}

std::string entry_id(std::string_view compiler, const Digest& digest) {
  return cat(compiler, "/", digest.hex());
}

}  // namespace

std::string DiskCache::default_root() {
  const std::string cache = environment_variable("XDG_CACHE_HOME");
  if (cache.starts_with('/')) return cat(cache, "/diecast");
  const std::string home = environment_variable("HOME");
  return home.starts_with('/') ? cat(home, home.ends_with('/') ? "" : "/", ".cache/diecast") : "";
}

DiskCache::DiskCache(std::string root, std::unique_ptr<State> state)
    : root_(std::move(root)), state_(std::move(state)) {}

DiskCache::~DiskCache() = default;

Result<std::unique_ptr<DiskCache>> DiskCache::open(const std::string& root, FileSystem& files,
                                                   RootAccess access) {
  DIECAST_TRY(CacheDirectory directory, CacheDirectory::open(files, root, access));
  auto state = std::make_unique<State>(files, std::move(directory), access);
  return std::unique_ptr<DiskCache>(new DiskCache(root, std::move(state)));
}

std::optional<Artifact> DiskCache::find(const ArtifactKey& key, const std::string& compiler,
                                        const Artifact* refused) {
  State& state = *state_;
  FileSystem& files = state.files;
  const auto directory = state.directory();
  std::vector<std::string> compilers = {compiler};
  if (compiler.empty()) compilers = directory->compilers();
  for (const std::string& identity : compilers) {
    if (!is_compiler_identity(identity) || state.reads.active(files.now_seconds())) continue;
    EntryFile entry = open_entry(files, *directory, identity, key.digest);
    if (is_absent(entry.error)) continue;
    const bool trusted =
        entry.fault != EntryFault::none || state.is_private_path(*directory, identity, key.digest);
    if (!trusted) entry.fault = EntryFault::not_private;
    Bytes bytes;
    DecodedEntry decoded = read_entry_file(files, entry, &key, bytes);
    if (decoded.fault == EntryFault::none && refused != nullptr &&
        decoded.artifact.payload == refused->payload) {
      ++state.refused;
      state.remember_damage(entry_id(identity, key.digest), FileIdentity::of(entry.status));
      continue;
    }
    if (decoded.fault == EntryFault::none) {
      state.reads.success();
      if (state.may_write(*directory)) touch(files, entry, state.writes);
      state.forget_taken(entry_id(identity, key.digest));
      ++state.hits;
      return std::move(decoded.artifact);
    }
    state.count(decoded.fault);
    if (decoded.fault == EntryFault::unreadable && !may_not_be_read(entry.error)) {
      state.reads.failure(entry.error, files.now_seconds());
    }
    if (is_damage(decoded.fault)) {
      state.remember_damage(entry_id(identity, key.digest), FileIdentity::of(entry.status));
    } else if (stays(decoded.fault, entry.error)) {
      state.remember_taken(entry_id(identity, key.digest));
    }
  }
  ++state.misses;
  return std::nullopt;
}

bool DiskCache::has_file(const ArtifactKey& key, const std::string& compiler) const {
  return static_cast<bool>(state_->directory()->entry(compiler, key.digest));
}

bool DiskCache::publish(const ArtifactKey& key, const Artifact& artifact) {
  State& state = *state_;
  const auto directory = state.directory();
  if (!state.may_write(*directory)) {
    ++state.publishes_skipped;
    return false;
  }
  const auto failed = [&](int error) {
    ++state.publish_failures;
    state.publish_error = error;
    if (refuses_writing(error)) {
      state.writes.stop();
    } else if (error < 0 && error != -ENOTDIR) {  // which is these keys' trouble alone
      state.writes.failure(error, state.files.now_seconds());
    }
    return false;
  };
  if (!is_compiler_identity(artifact.compiler)) return failed(0);
  const Result<Bytes> bytes = encode_entry(key, artifact);
  if (!bytes) return failed(0);
  const std::string name = entry_name(key.digest), id = entry_id(artifact.compiler, key.digest);
  const auto damaged = state.take_damage(id);
  int result = -ENOENT;
  // Again: a collection may remove the empty folder before the entry has its name in it.
  for (int tries = 0; tries < 4 && result == -ENOENT; ++tries) {
    const Descriptor shard = directory->shard(artifact.compiler, key.digest, true);
    result = shard.number();
    if (!shard) continue;
    if (!state.is_private_path(*directory, artifact.compiler, key.digest)) {
      result = -ENOTDIR;  // no folder of ours, as a link is none
    } else {
      result = damaged ? state.writer.replace(shard.number(), name, *bytes, *damaged)
                       : state.writer.publish(shard.number(), name, *bytes);
    }
  }
  if (result < 0 && result != -EEXIST) {
    if (damaged) state.remember_damage(id, *damaged);
    if (result != -ENOENT) return failed(result);
    state.reopen(root_);  // the root was removed; that says nothing about the disk
    return failed(0);
  }
  if (result == -EEXIST && state.is_taken(id)) {
    ++state.publish_failures;
    state.publish_error = -EEXIST;
    return false;
  }
  state.writes.success();
  if (result == -EEXIST) {
    ++state.already_there;
  } else {
    ++state.publishes;
    state.published_bytes += bytes->size();
    if (damaged) ++state.replaced;
  }
  return true;
}

Result<void> DiskCache::check_writing() {
  const auto directory = state_->directory();
  const int folder = directory->refusal() < 0 ? directory->refusal() : directory->versions();
  const int result = folder < 0 ? folder : state_->writer.try_writing(folder);
  if (result >= 0) return {};
  if (refuses_writing(result)) state_->writes.stop();
  return file_error("write to", root_, result);
}

void DiskCache::skip_publish() { ++state_->publishes_skipped; }

void DiskCache::supersede(const ArtifactKey& key, const std::string& compiler) {
  const EntryFile entry = open_entry(state_->files, *state_->directory(), compiler, key.digest);
  if (!entry.file || entry.fault == EntryFault::unreadable) return;
  state_->remember_damage(entry_id(compiler, key.digest), FileIdentity::of(entry.status));
}

bool DiskCache::writable() const { return state_->may_write(*state_->directory()); }

CacheStatistics DiskCache::statistics() const {
  const State& state = *state_;
  CacheStatistics out;
  out.refused = state.refused;
  out.hits = state.hits;
  out.misses = state.misses;
  for (std::size_t i = 0; i < kEntryFaults; ++i) {
    out.faults[i] = state.faults[i];
    out.rejected += out.faults[i];
  }
  out.publishes = state.publishes;
  out.replaced = state.replaced;
  out.already_there = state.already_there;
  out.publish_failures = state.publish_failures;
  out.publish_error = state.publish_error;
  out.publishes_skipped = state.publishes_skipped;
  out.lock_waits = state.lock_waits;
  out.lock_timeouts = state.lock_timeouts;
  out.lock_failures = state.lock_failures;
  return out;
}

}  // namespace diecast
