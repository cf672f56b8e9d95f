// Publishing behind the caller's back: an entry's data is synced to the disk by one thread of the
// runtime while the kernel is already in use. The key's lock goes with the work, so that nobody
// compiles what is about to be there.
#pragma once

#include <diecast/cache/cache_roots.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace diecast {

struct Publication {
  ArtifactKey key;
  std::shared_ptr<const Artifact> artifact;
  DiskCache::Lock lock;  // released when it has its name, or will not get it
};

class Publisher {
 public:
  explicit Publisher(std::function<void(Publication)> publish) : publish_(std::move(publish)) {}
  ~Publisher();  // after everything is published; never in a forked child

  // Returns at once. False: too many are waiting for a slow disk, and this one is not published. A
  // forked child has no thread and publishes here. What `publish` throws is a publication that
  // failed: nobody needs it.
  bool add(Publication publication);
  void flush();
  static constexpr std::size_t kWaiting = 64;  // at most
  bool is_ours() const;  // false in a forked child: its thread is not there, its lock may be held

 private:
  void publish(Publication publication) const;
  void run();

  const std::function<void(Publication)> publish_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Publication> waiting_;
  bool busy_ = false, end_ = false;
  std::thread thread_;              // started by the first add
  std::atomic<pid_t> process_ = 0;  // whose first add it was; until then nobody has locked mutex_
};

}  // namespace diecast
