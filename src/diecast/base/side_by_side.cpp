// See side_by_side.h.
#include <diecast/base/side_by_side.h>

#include <system_error>
#include <thread>
#include <vector>

namespace diecast {

void run_side_by_side(std::size_t jobs, const std::function<void()>& work) {
  std::vector<std::thread> threads;
  try {
    for (std::size_t i = 1; i < jobs; ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {  // those there are do it
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace diecast
