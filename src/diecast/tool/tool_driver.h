// Functions of the CUDA driver that only measurements call: graphs that are replayed, and
// unloading, which the library never does (a captured graph may hold what was loaded).
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/library.h>
#include <diecast/launch/cuda/context.h>
#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

#include <functional>
#include <memory>

namespace diecast::cuda {

struct GraphHandle;
struct GraphExecHandle;

inline constexpr Result not_ready = 600;  // a stream that has work left
// CUstreamCaptureMode: whose unsafe calls are refused while a stream captures.
inline constexpr int capture_global = 0, capture_thread_local = 1, capture_relaxed = 2;

}  // namespace diecast::cuda

// X(symbol, nvidias, parameters): `nvidias` is the declaration in cudaTypedefs.h it must equal. All
// of them are in every driver of CUDA 12.0.
#define DIECAST_TOOL_CUDA_FUNCTIONS(X)                                                            \
  X(cuStreamQuery, cuStreamQuery_v2000, (StreamHandle * stream))                                  \
  X(cuStreamBeginCapture_v2, cuStreamBeginCapture_v10010, (StreamHandle * stream, int mode))      \
  X(cuStreamEndCapture, cuStreamEndCapture_v10000, (StreamHandle * stream, GraphHandle * *graph)) \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags_v11040,                              \
    (GraphExecHandle * *exec, GraphHandle * graph, unsigned long long flags))                     \
  X(cuGraphLaunch, cuGraphLaunch_v10000, (GraphExecHandle * exec, StreamHandle * stream))         \
  X(cuGraphExecDestroy, cuGraphExecDestroy_v10000, (GraphExecHandle * exec))                      \
  X(cuGraphDestroy, cuGraphDestroy_v10000, (GraphHandle * graph))                                 \
  X(cuLibraryUnload, cuLibraryUnload_v12000, (LibraryHandle * library))

namespace diecast::cuda {

#define DIECAST_DECLARE(name, nvidias, parameters) using name##_type = Result parameters;
DIECAST_TOOL_CUDA_FUNCTIONS(DIECAST_DECLARE)
#undef DIECAST_DECLARE

}  // namespace diecast::cuda

namespace diecast::tool {

// The process's driver with these functions. A device's primary context is current in the thread
// that opens it, and that ends it, for as long as it lives.
class ToolDriver {
 public:
  // Errors: those of Driver::shared(); driver_unavailable where one of the functions is missing;
  // of the driver.
  static Result<ToolDriver> open(const Device& device);

  const Driver& driver() const { return *driver_; }
  cuda::ContextHandle* context() const { return context_; }
  Result<void> check(cuda::Result code, const char* function, const char* doing) const;

#define DIECAST_MEMBER(name, nvidias, parameters) cuda::name##_type* name = nullptr;
  DIECAST_TOOL_CUDA_FUNCTIONS(DIECAST_MEMBER)
#undef DIECAST_MEMBER

 private:
  explicit ToolDriver(std::shared_ptr<const Driver> driver, Library library)
      : driver_(std::move(driver)), library_(std::move(library)) {}

  std::shared_ptr<const Driver> driver_;
  Library library_;
  cuda::ContextHandle* context_ = nullptr;
  std::unique_ptr<CurrentContext> current_;  // gone before the driver is
};

// Calls on a stream, captured into a graph that can be launched again and again.
class ReplayedGraph {
 public:
  // `mode`: whose unsafe calls are refused meanwhile.
  static Result<ReplayedGraph> capture(const ToolDriver& driver, Stream stream,
                                       const std::function<Result<void>()>& calls,
                                       int mode = cuda::capture_thread_local);
  Result<void> launch() const;

 private:
  ReplayedGraph(const ToolDriver& driver, Stream stream) : driver_(&driver), stream_(stream) {}

  const ToolDriver* driver_;
  Stream stream_;
  std::shared_ptr<cuda::GraphExecHandle> exec_;
};

}  // namespace diecast::tool
