// The publishing thread: see publisher.h.
#include <diecast/base/thread.h>
#include <diecast/runtime/publisher.h>
#include <unistd.h>

#include <exception>

namespace diecast {

bool Publisher::is_ours() const {
  const pid_t process = process_;
  return process == 0 || process == ::getpid();
}

void Publisher::publish(Publication publication) const {
  try {
    publish_(std::move(publication));
  } catch (...) {  // no memory, most likely; the artifact is in use all the same
  }
}

Publisher::~Publisher() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard guard(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Publisher::add(Publication publication) {
  // Before the mutex: whoever finds it locked, in a child too, knows whose it is.
  pid_t nobody = 0;
  process_.compare_exchange_strong(nobody, ::getpid());
  if (is_ours()) {
    std::lock_guard guard(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = start_thread([this] { run(); });
      } catch (const std::exception&) {  // no thread to be had: published here and now
      }
    }
    if (thread_.joinable()) {
      if (waiting_.size() >= kWaiting) return false;
      waiting_.push_back(std::move(publication));
      changed_.notify_all();
      return true;
    }
  }
  publish(std::move(publication));
  return true;
}

void Publisher::flush() {
  if (process_ != ::getpid()) return;  // there is nothing, or it is the parent's
  std::unique_lock lock(mutex_);
  if (std::this_thread::get_id() == thread_.get_id()) return;  // an event's sink asks
  changed_.wait(lock, [&] { return waiting_.empty() && !busy_; });
}

void Publisher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return end_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    busy_ = true;
    {
      Publication publication = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      publish(std::move(publication));
    }
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace diecast
