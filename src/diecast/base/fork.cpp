// The list of locks that a fork takes: see fork.h.
#include <diecast/base/fork.h>
#include <pthread.h>

#include <mutex>
#include <vector>

namespace diecast {
namespace {

struct Locks {
  std::mutex mutex;
  std::vector<const HeldOverFork*> all;
};

// Outlives static destructors, in which a fork may happen too.
Locks& locks() {
  static auto* const locks = new Locks;
  return *locks;
}

void before_any() {
  locks().mutex.lock();
  for (const HeldOverFork* const lock : locks().all) lock->before_fork();
}

void after_any() {
  for (const HeldOverFork* const lock : locks().all) lock->after_fork();
  locks().mutex.unlock();
}

void after_any_in_child() {
  for (const HeldOverFork* const lock : locks().all) lock->after_fork_in_child();
  locks().mutex.unlock();
}

}  // namespace

HeldOverFork::HeldOverFork(void* owner, Call before, Call after, Call after_in_child)
    : owner_(owner), before_(before), after_(after), after_in_child_(after_in_child) {
  static const int watched = pthread_atfork(before_any, after_any, after_any_in_child);
  (void)watched;
  std::lock_guard guard(locks().mutex);
  locks().all.push_back(this);
}

HeldOverFork::~HeldOverFork() {
  std::lock_guard guard(locks().mutex);
  std::erase(locks().all, this);
}

}  // namespace diecast
