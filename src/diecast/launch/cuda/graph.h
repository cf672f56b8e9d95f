// Calls on a stream, captured into a CUDA graph that can be launched again and again.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

#include <functional>
#include <memory>

namespace diecast {

// With the stream's context current, which is also current in each repetition. `mode`: whose unsafe
// calls are refused meanwhile. Errors: those of `calls`; of the driver.
Result<std::unique_ptr<RepeatedCalls>> capture_graph(std::shared_ptr<const Driver> driver,
                                                     Stream stream,
                                                     const std::function<Result<void>()>& calls,
                                                     int mode = cuda::capture_thread_local);

}  // namespace diecast
