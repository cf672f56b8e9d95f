// See run_tasks.h.
#include <diecast/base/side_by_side.h>
#include <diecast/checkpoint/run_tasks.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

namespace diecast {

Result<void> run_tasks(
    std::size_t jobs, std::size_t count,
    const std::function<Result<void>(std::size_t job, std::size_t task)>& carry_out) {
  std::atomic<std::size_t> next_job = 0, next_task = 0, end = count;
  std::mutex mutex;
  std::optional<Error> first;
  const auto fail = [&](std::size_t task, const Error& error) {
    const std::lock_guard lock(mutex);
    if (task >= end) return;  // one before it has failed too
    end = task;
    first = error;
  };
  run_side_by_side(std::min(jobs, count), [&] {
    const std::size_t job = next_job++;
    for (std::size_t task = next_task++; task < end; task = next_task++) {
      try {
        const Result<void> result = carry_out(job, task);
        if (!result) fail(task, result.error());
      } catch (...) {
        end = 0;  // thrown again once the others are through with theirs
        throw;
      }
    }
  });
  if (first) return *first;
  return {};
}

}  // namespace diecast
