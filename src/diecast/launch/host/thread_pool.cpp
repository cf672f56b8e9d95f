// One queue of jobs, each open to a number of workers, under one mutex: work inside a job is shared
// out by the job itself, so the mutex is taken twice a worker and job.
#include <diecast/base/thread.h>
#include <diecast/launch/host/thread_pool.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace diecast {

class ThreadPool::Workers {
 public:
  explicit Workers(int count) {
    threads_.reserve(static_cast<std::size_t>(count));
    try {
      for (int i = 0; i < count; ++i) threads_.push_back(start_thread([this] { serve(); }));
    } catch (const std::exception&) {  // no more threads to be had: go on with those there are
    }
  }
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::size_t count() const { return threads_.size(); }

  void run(std::uint64_t helpers, const std::function<void()>& work) {
    Job job{&work, helpers};
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(&job);
    }
    struct AtTheEnd {  // however `work` is left: nobody may find the job any more
      Workers& workers;
      Job& job;
      ~AtTheEnd() {
        std::unique_lock lock(workers.mutex_);
        std::erase(workers.jobs_, &job);
        workers.finished_.wait(lock, [&] { return job.active == 0; });
      }
    };
    const AtTheEnd end{*this, job};
    for (std::uint64_t i = 0; i < helpers; ++i) arrived_.notify_one();
    work();
  }

 private:
  struct Job {
    const std::function<void()>* work;
    std::uint64_t openings;  // workers that may still join
    unsigned active = 0;     // workers inside `work`
  };

  void serve() {
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

  std::mutex mutex_;
  std::condition_variable arrived_, finished_;
  std::deque<Job*> jobs_;  // with openings; each lives on the stack of its run()
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

ThreadPool::ThreadPool(int threads) : workers_(std::make_unique<Workers>(threads - 1)) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return workers_ ? static_cast<int>(workers_->count()) + 1 : 1; }

void ThreadPool::run(std::uint64_t participants, const std::function<void()>& work) {
  const auto others = static_cast<std::uint64_t>(threads() - 1);
  if (participants <= 1 || others == 0) return work();
  workers_->run(std::min(participants - 1, others), work);
}

void ThreadPool::leave_behind(void* self) {
  (void)static_cast<ThreadPool*>(self)->workers_.release();
}

}  // namespace diecast
