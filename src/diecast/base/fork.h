// What a fork needs of a library that threads use: no lock may be held in the child by a thread
// that is not there.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>

namespace diecast {

// One lock of this process, or what else a fork may not leave as it is: every fork makes the calls,
// with `owner`. The last member of its class, never a base: then the owner is whole from before it
// is listed until it no longer is, whatever thread forks meanwhile.
class HeldOverFork {
 public:
  using Call = void (*)(void* owner);  // null: nothing to do
  HeldOverFork(void* owner, Call before, Call after, Call after_in_child);
  ~HeldOverFork();
  HeldOverFork(const HeldOverFork&) = delete;
  HeldOverFork& operator=(const HeldOverFork&) = delete;

  void before_fork() const { call(before_); }
  void after_fork() const { call(after_); }
  void after_fork_in_child() const { call(after_in_child_); }

 private:
  void call(Call one) const {
    if (one != nullptr) one(owner_);
  }
  void* const owner_;
  const Call before_, after_, after_in_child_;
};

// A mutex for short work: a fork waits until it is free. Holders take no second one, make none and
// end none: a fork takes all of them, in no order.
template <class Mutex>
class ForkSafe final : public Mutex {
 private:
  static void take(void* self) { static_cast<ForkSafe*>(self)->lock(); }
  static void give_back(void* self) { static_cast<ForkSafe*>(self)->unlock(); }
  // Not unlocked but made anew: a shared mutex knows its holder by a number that a child has not.
  static void make_anew(void* self) {
    std::construct_at(static_cast<Mutex*>(static_cast<ForkSafe*>(self)));
  }

  const HeldOverFork held_{this, take, give_back, make_anew};
};

// A mutex for long work, for which no fork waits: a child takes it from the parent's thread that
// held it. What it guards must be fit for that, however far the thread had come.
class LongMutex {
 public:
  void lock() {
    const pid_t self = ::getpid();
    for (pid_t holder = 0; !holder_.compare_exchange_strong(holder, self);) {
      if (holder != self) continue;  // free by now, or the parent's: the next try takes it
      holder_.wait(self);
      holder = 0;
    }
  }
  void unlock() {
    holder_ = 0;
    holder_.notify_one();
  }

 private:
  std::atomic<pid_t> holder_ = 0;
};

}  // namespace diecast
