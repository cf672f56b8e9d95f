// Capturing and launching graphs; see graph.h.
#include <diecast/launch/cuda/context.h>
#include <diecast/launch/cuda/graph.h>

#include <utility>

namespace diecast {
namespace {

class CudaGraph final : public RepeatedCalls {
 public:
  CudaGraph(std::shared_ptr<const Driver> driver, cuda::ContextHandle* context,
            cuda::StreamHandle* stream, cuda::GraphExecHandle* exec)
      : driver_(std::move(driver)), context_(context), stream_(stream), exec_(exec) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    if (Driver::usable_now()) driver_->cuGraphExecDestroy(exec_);
  }

  Result<void> repeat() override {
    DIECAST_CHECK(Driver::usable());
    CurrentContext scope(*driver_);
    DIECAST_CHECK(scope.push(context_));
    const cuda::Result code = driver_->cuGraphLaunch(exec_, stream_);
    if (code == cuda::success) return {};
    return driver_->failure(code, "cuGraphLaunch", "launching a graph");
  }

 private:
  const std::shared_ptr<const Driver> driver_;
  cuda::ContextHandle* const context_;
  cuda::StreamHandle* const stream_;
  cuda::GraphExecHandle* const exec_;
};

}  // namespace

Result<std::unique_ptr<RepeatedCalls>> capture_graph(std::shared_ptr<const Driver> driver,
                                                     Stream stream,
                                                     const std::function<Result<void>()>& calls,
                                                     int mode) {
  const auto check = [&](cuda::Result code, const char* function,
                         const char* doing) -> Result<void> {
    if (code == cuda::success) return {};
    return driver->failure(code, function, doing);
  };
  auto* const native = static_cast<cuda::StreamHandle*>(stream.handle);
  cuda::ContextHandle* context = nullptr;
  DIECAST_CHECK(
      check(driver->cuCtxGetCurrent(&context), "cuCtxGetCurrent", "asking for the context"));
  DIECAST_CHECK(check(driver->cuStreamBeginCapture(native, mode), "cuStreamBeginCapture",
                      "beginning a capture"));
  cuda::GraphHandle* graph = nullptr;
  Result<void> called;
  try {
    called = calls();
  } catch (...) {  // the caller's own trouble, but the stream is free again
    driver->cuStreamEndCapture(native, &graph);
    if (graph != nullptr) driver->cuGraphDestroy(graph);
    throw;
  }
  const cuda::Result ended = driver->cuStreamEndCapture(native, &graph);
  if (!called && graph != nullptr) driver->cuGraphDestroy(graph);
  DIECAST_CHECK(called);
  DIECAST_CHECK(check(ended, "cuStreamEndCapture", "ending a capture"));
  cuda::GraphExecHandle* exec = nullptr;
  const cuda::Result made = driver->cuGraphInstantiateWithFlags(&exec, graph, 0);
  DIECAST_CHECK(check(driver->cuGraphDestroy(graph), "cuGraphDestroy", "giving back a graph"));
  DIECAST_CHECK(check(made, "cuGraphInstantiate", "making a graph ready"));
  return std::unique_ptr<RepeatedCalls>(
      std::make_unique<CudaGraph>(std::move(driver), context, native, exec));
}

}  // namespace diecast
