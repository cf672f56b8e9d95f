// One piece of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace diecast {

// Runs `work` on `jobs` threads, the caller's among them, and returns when all are done; on fewer
// where no more are to be had. What it takes next, `work` has to agree on with itself. Of what it
// throws, the first is thrown again once all are done.
void run_side_by_side(std::size_t jobs, const std::function<void()>& work);

}  // namespace diecast
