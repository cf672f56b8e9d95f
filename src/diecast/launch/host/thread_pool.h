// A few operating-system threads, created once. Whoever brings work takes part in it, so work is
// done even where no thread could be created (or after a fork, which takes none along).
#pragma once

#include <diecast/base/fork.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace diecast {

class ThreadPool final {
 public:
  // `threads` take part in a run at most, its caller included: one fewer are created, or as many
  // as the system allows.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls `work` on this thread and on up to `participants` - 1 others at the same time; returns
  // when all of them have returned. A worker that comes late may find nothing left to do, and one
  // that has not begun when the caller is through never begins. Any number of threads may call
  // this.
  void run(std::uint64_t participants, const std::function<void()>& work);

 private:
  class Workers;

  static void leave_behind(void* self);

  std::unique_ptr<Workers> workers_;  // none in a forked child
  // Nothing is held: a child leaves behind what its parent's threads were in the middle of.
  const HeldOverFork held_{this, nullptr, nullptr, leave_behind};
};

}  // namespace diecast
