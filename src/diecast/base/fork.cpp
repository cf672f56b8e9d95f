// The list of locks that a fork takes: see fork.h.
#include <diecast/base/fork.h>
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace diecast {
namespace {

struct Locks {
  std::mutex mutex;
  std::vector<HeldOverFork*> all;
};

// Outlives static destructors, in which a fork may happen too.
Locks& locks() {
  static auto* const locks = new Locks;
  return *locks;
}

void before() {
  locks().mutex.lock();
  for (HeldOverFork* const lock : locks().all) lock->before_fork();
}

void after() {
  for (HeldOverFork* const lock : locks().all) lock->after_fork();
  locks().mutex.unlock();
}

void after_in_child() {
  for (HeldOverFork* const lock : locks().all) lock->after_fork_in_child();
  locks().mutex.unlock();
}

}  // namespace

HeldOverFork::HeldOverFork() {
  static const int watched = pthread_atfork(before, after, after_in_child);
  (void)watched;
  std::lock_guard guard(locks().mutex);
  locks().all.push_back(this);
}

HeldOverFork::~HeldOverFork() {
  std::lock_guard guard(locks().mutex);
  std::erase(locks().all, this);
}

}  // namespace diecast
