// A few operating-system threads, created once. Whoever brings work takes part in it, so work is
// done even where no thread could be created (or after a fork, which takes none along).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace diecast {

class ThreadPool {
 public:
  // `threads` take part in a run at most, its caller included: one fewer are created, or as many
  // as the system allows.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls `work` on this thread and on up to `participants` - 1 others at the same time; returns
  // when all of them have returned. A worker that comes late may find nothing left to do, and one
  // that has not begun when the caller is through never begins. Any number of threads may call
  // this.
  void run(std::uint64_t participants, const std::function<void()>& work);

 private:
  struct Job {
    const std::function<void()>* work;
    std::uint64_t openings;  // workers that may still join
    unsigned active = 0;     // workers inside `work`
  };
  void serve();

  std::mutex mutex_;
  std::condition_variable arrived_, finished_;
  std::deque<Job*> jobs_;  // with openings; each lives on the stack of its run()
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace diecast
