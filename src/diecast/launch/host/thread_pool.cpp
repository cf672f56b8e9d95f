// One queue of jobs, each open to a number of workers, under one mutex: work inside a job is shared
// out by the job itself, so the mutex is taken twice a worker and job.
#include <diecast/launch/host/thread_pool.h>

#include <algorithm>
#include <system_error>

namespace diecast {

ThreadPool::ThreadPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {  // no more threads to be had: go on with those there are
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::uint64_t participants, const std::function<void()>& work) {
  const std::uint64_t helpers = std::min<std::uint64_t>(participants - 1, workers_.size());
  if (participants <= 1 || helpers == 0) return work();
  Job job{&work, helpers};
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
  }
  for (std::uint64_t i = 0; i < helpers; ++i) arrived_.notify_one();
  work();
  std::unique_lock lock(mutex_);
  std::erase(jobs_, &job);
  finished_.wait(lock, [&] { return job.active == 0; });
}

void ThreadPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job& job = *jobs_.front();
    if (--job.openings == 0) jobs_.pop_front();
    ++job.active;
    lock.unlock();
    (*job.work)();
    lock.lock();
    if (--job.active == 0) finished_.notify_all();
  }
}

}  // namespace diecast
