// One byte of v1/lock a key, locked per open file: the kernel frees it when the holder dies, there
// is nothing to clean up, and no clock decides whether a lock is stale. A try never waits; waiting
// is done here, with a deadline.
#include <diecast/base/fork.h>
#include <diecast/cache/disk_cache_state.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace diecast {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kFirstPause{1000}, kLongestPause{50000};

// Between half and the whole of `pause`: waiters must not try in step.
std::chrono::microseconds jittered(std::chrono::microseconds pause) {
  const auto half = static_cast<std::uint64_t>(pause.count() / 2);
  return std::chrono::microseconds(half + random_bits() % (half + 1));
}

}  // namespace

// The open file that holds a lock. A forked child closes its copy, which unlocks nothing: else the
// key would stay locked, when its holder is killed, for as long as the child lives.
struct DiskCache::Lock::Held {
  // Unlocked by name, not only closed: a process made without fork's handlers has a copy too.
  ~Held() {
    if (locked && file) files.unlock(file.number(), offset, 1);
  }
  static void close_copy(void* held) { static_cast<Held*>(held)->file.close(); }

  FileSystem& files;
  Descriptor file;
  const std::uint64_t offset;
  bool locked = false;
  const HeldOverFork at_fork{this, nullptr, nullptr, close_copy};
};

DiskCache::Lock::Lock() = default;
DiskCache::Lock::Lock(Lock&& other) noexcept = default;
DiskCache::Lock& DiskCache::Lock::operator=(Lock&& other) noexcept = default;
DiskCache::Lock::~Lock() = default;

bool DiskCache::Lock::held() const { return held_ && held_->file; }

DiskCache::Lock DiskCache::lock(const ArtifactKey& key, std::chrono::milliseconds wait,
                                const std::function<bool()>& ready) {
  const auto directory = state_->directory();
  if (!state_->may_write(*directory)) return {};
  FileSystem& files = state_->files;
  // An open file of its own: threads of one process exclude one another too.
  Descriptor opened(files, files.open_at(directory->versions(), "lock",
                                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
  const std::uint64_t offset = key.digest.high >> 2;  // 62 bits: offsets are signed
  Lock out;
  out.held_.reset(new Lock::Held{files, std::move(opened), offset});
  const Descriptor& file = out.held_->file;
  const auto deadline = Clock::now() + wait;
  std::chrono::microseconds pause = kFirstPause;
  int result = file ? files.try_lock(file.number(), offset, 1) : file.number();
  if (result == -EAGAIN) ++state_->lock_waits;
  while (result == -EAGAIN) {
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      ++state_->lock_timeouts;
      return {};
    }
    std::this_thread::sleep_for(std::min(jittered(pause), left));
    pause = std::min(2 * pause, kLongestPause);
    if (ready && ready()) return {};
    result = files.try_lock(file.number(), offset, 1);
  }
  if (result < 0) {
    ++state_->lock_failures;
    if (result == -EROFS) state_->writes.stop();
    return {};
  }
  out.held_->locked = true;
  return out;
}

}  // namespace diecast
