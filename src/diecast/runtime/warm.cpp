// Warming; see warm.h.
#include <diecast/base/side_by_side.h>
#include <diecast/runtime/compile_jobs.h>
#include <diecast/runtime/publisher.h>
#include <diecast/runtime/warm.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace diecast {

std::vector<WarmOutcome> warm(Runtime& runtime, std::span<const Specialization> specializations,
                              const WarmOptions& options) {
  std::vector<WarmOutcome> outcomes(specializations.size());
  std::atomic<std::size_t> next{0};
  std::mutex progress_mutex;
  std::size_t done = 0;

  const std::size_t wanted = options.jobs > 0 ? static_cast<std::size_t>(options.jobs)
                                              : compile_jobs(std::thread::hardware_concurrency());
  const std::size_t jobs =
      std::max<std::size_t>(1, std::min({wanted, specializations.size(), Publisher::kWaiting}));
  // Nothing may be skipped: so few of each thread wait to be published that there is room for all.
  const std::size_t share = Publisher::kWaiting / jobs;

  const auto work = [&] {
    std::size_t waiting = 0;
    for (std::size_t i = next++; i < specializations.size(); i = next++) {
      WarmOutcome& outcome = outcomes[i];
      outcome.specialization = &specializations[i];
      auto resolved = runtime.resolve(specializations[i]);
      if (resolved) {
        outcome.resolved = *std::move(resolved);
      } else {
        outcome.error = std::move(resolved).error();
      }
      if (++waiting % share == 0) runtime.flush();
      std::lock_guard lock(progress_mutex);
      ++done;
      if (!options.progress) continue;
      try {
        options.progress(outcome, done, specializations.size());
      } catch (...) {  // its own trouble: the rest is warmed all the same
      }
    }
  };

  run_side_by_side(jobs, work);
  runtime.flush();
  return outcomes;
}

}  // namespace diecast
