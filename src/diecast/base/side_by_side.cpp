// See side_by_side.h.
#include <diecast/base/side_by_side.h>
#include <diecast/base/thread.h>

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace diecast {

void run_side_by_side(std::size_t jobs, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (first == nullptr) first = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  try {
    threads.reserve(jobs);
    for (std::size_t i = 1; i < jobs; ++i) threads.push_back(start_thread(run));
  } catch (const std::exception&) {  // those there are do it
  }
  run();
  for (std::thread& thread : threads) thread.join();
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace diecast
