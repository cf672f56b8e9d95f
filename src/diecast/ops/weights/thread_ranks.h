// Ranks that are threads of this process, each with its own device or all with one: for the host
// target, tests and examples. Values travel through host memory.
#pragma once

#include <diecast/ops/weights/communicator.h>

#include <chrono>
#include <memory>
#include <vector>

namespace diecast {

// One communicator a device, in the order of ranks; each for one thread, which may use it as long
// as it likes. A rank that makes another call than the others, or none within `patience`, fails
// that call and every later one of all ranks (invalid_argument, timed_out): none waits for ever.
std::vector<std::shared_ptr<Communicator>> thread_ranks(
    const std::vector<std::shared_ptr<Device>>& devices,
    std::chrono::milliseconds patience = std::chrono::seconds(60));

}  // namespace diecast
