// What a list needs, made ahead by a few threads while the caller uses it in order: of making and
// using only the longer is left to wait for.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/thread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace diecast {

template <class Made>
class Ahead {
 public:
  static constexpr std::size_t kThreads = 4, kShare = 8;  // fewer than a share: no thread

  // `make` gives the i-th, once, on whichever thread; it throws nothing.
  Ahead(std::size_t count, std::function<Result<Made>(std::size_t)> make)
      : make_(std::move(make)), made_(count) {
    const std::size_t others = std::max(std::thread::hardware_concurrency(), 1u) - 1;
    begin(first_, std::min({kThreads, others, count / kShare}));
  }
  Ahead(const Ahead&) = delete;
  // What is begun is waited for, what is not is left.
  ~Ahead() {
    next_ = made_.size();
    if (first_.joinable()) first_.join();
  }

  // The i-th, once.
  Result<Made> take(std::size_t i) {
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (made_[i]) return *std::move(made_[i]);
      }
      if (make_next()) continue;  // rather than wait
      std::unique_lock lock(mutex_);
      landed_.wait(lock, [&] { return made_[i].has_value(); });
    }
  }

 private:
  // So many threads, of which each begins the next and ends after it: the caller begins one alone,
  // for it has the first to make.
  void begin(std::thread& thread, std::size_t count) {
    if (count == 0) return;
    try {
      thread = start_thread([this, count] {
        std::thread next;
        begin(next, count - 1);
        while (make_next()) continue;
        if (next.joinable()) next.join();
      });
    } catch (const std::exception&) {  // those there are do it, and the caller
    }
  }
  bool make_next() {
    const std::size_t i = next_++;
    if (i >= made_.size()) return false;
    Result<Made> made = make_(i);
    std::lock_guard lock(mutex_);
    made_[i] = std::move(made);
    landed_.notify_all();
    return true;
  }

  const std::function<Result<Made>(std::size_t)> make_;
  std::mutex mutex_;
  std::condition_variable landed_;
  std::vector<std::optional<Result<Made>>> made_;
  std::atomic<std::size_t> next_{0};
  std::thread first_;
};

}  // namespace diecast
