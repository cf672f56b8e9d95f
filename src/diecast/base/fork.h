// What a fork needs of a library that threads use: no lock may be held in the child by a thread
// that is not there.
#pragma once

#include <memory>

namespace diecast {

// One lock of this process: every fork takes it, and gives it back on both sides.
class HeldOverFork {
 public:
  virtual void before_fork() = 0;
  virtual void after_fork() = 0;
  virtual void after_fork_in_child() = 0;

 protected:
  HeldOverFork();
  ~HeldOverFork();
  HeldOverFork(const HeldOverFork&) = delete;
};

// A mutex for short work: a fork waits until it is free. Holders take no second one: a fork takes
// all of them, in no order.
template <class Mutex>
class ForkSafe final : public Mutex, private HeldOverFork {
 private:
  void before_fork() override { this->lock(); }
  void after_fork() override { this->unlock(); }
  // Not unlocked but made anew: a shared mutex knows its holder by a number that a child has not.
  void after_fork_in_child() override { std::construct_at(static_cast<Mutex*>(this)); }
};

}  // namespace diecast
