// Warming; see warm.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/warm.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace diecast {
namespace {

constexpr std::uint64_t kCompileBytes = 300u << 20;  // what a compile takes at its height

// As many as there are cores, unless the memory left is less than that many compiles need.
std::size_t default_jobs() {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const Result<Bytes> text = read_file(system_files(), "/proc/meminfo", 1u << 16);
  if (!text) return cores;
  const std::string_view lines(reinterpret_cast<const char*>(text->data()), text->size());
  for (const std::string_view line : split(lines, '\n')) {
    const auto words_of = words(line);
    if (words_of.size() < 2 || words_of[0] != "MemAvailable:") continue;
    const auto kilobytes = parse_integer(words_of[1]).value_or(0);
    const auto fit = static_cast<std::size_t>(kilobytes) * 1024 / kCompileBytes;
    return std::clamp<std::size_t>(fit, 1, cores);
  }
  return cores;
}

}  // namespace

std::vector<WarmOutcome> warm(Runtime& runtime, std::span<const Specialization> specializations,
                              const WarmOptions& options) {
  std::vector<WarmOutcome> outcomes(specializations.size());
  std::atomic<std::size_t> next{0};
  std::mutex progress_mutex;
  std::size_t done = 0;

  const auto work = [&] {
    for (std::size_t i = next++; i < specializations.size(); i = next++) {
      WarmOutcome& outcome = outcomes[i];
      outcome.specialization = &specializations[i];
      auto resolved = runtime.resolve(specializations[i]);
      if (resolved) {
        outcome.resolved = *std::move(resolved);
      } else {
        outcome.error = resolved.error();
      }
      std::lock_guard lock(progress_mutex);
      ++done;
      if (options.progress) options.progress(outcome, done, specializations.size());
    }
  };

  const std::size_t jobs =
      options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : default_jobs();
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(jobs, specializations.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  runtime.flush();
  return outcomes;
}

}  // namespace diecast
