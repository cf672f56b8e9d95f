// The tasks of one list on several threads, and of their errors always the same one.
#pragma once

#include <diecast/base/error.h>

#include <cstddef>
#include <functional>

namespace diecast {

// Calls `carry_out(job, task)` for every task below `count`, on up to `jobs` threads, the caller's
// among them; `job` tells the threads apart. Tasks begin in order. After an error none begins that
// comes later, and those before it are carried out: the error of the first that fails is returned,
// however fast the threads are.
Result<void> run_tasks(
    std::size_t jobs, std::size_t count,
    const std::function<Result<void>(std::size_t job, std::size_t task)>& carry_out);

}  // namespace diecast
