// Streams, events and captures of the fake driver. Work is done in order, before the call returns.
#include <chrono>
#include <thread>

#include "fake/cuda_functions.h"

using namespace diecast::testing;
using namespace diecast::cuda;

namespace {

FakeStream* object(StreamHandle* stream) { return reinterpret_cast<FakeStream*>(stream); }
FakeEvent* object(EventHandle* event) { return reinterpret_cast<FakeEvent*>(event); }

bool is_default(StreamHandle* stream) {  // null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

bool is_stream(StreamHandle* handle) {
  for (const auto& stream : state().streams)
    if (stream.get() == object(handle)) return stream->alive;
  return false;
}

std::chrono::steady_clock::time_point busy_until(const FakeStream& stream) {
  std::lock_guard lock(state().mutex);
  return stream.busy_until;
}

bool is_allocated(DevicePointer where, std::size_t bytes) {
  auto after = state().memory.upper_bound(where);
  if (after == state().memory.begin()) return false;
  const auto& [start, size] = *--after;
  return where - start + bytes <= size;
}

template <class Handle>
Handle* new_graph() {
  auto* const graph = reinterpret_cast<Handle*>(static_cast<std::uintptr_t>(++state().last_graph));
  state().script.graphs.insert(graph);
  return graph;
}

int destroy_graph(const char* function, const void* graph) {
  if (const int code = enter(function, false)) return code;
  std::lock_guard lock(state().mutex);
  return state().script.graphs.erase(graph) != 0 ? success : invalid_value;
}

}  // namespace

namespace diecast::testing {

int find_stream(StreamHandle* handle, FakeStream** stream) {
  *stream = nullptr;
  if (is_default(handle)) return success;
  std::lock_guard lock(state().mutex);
  if (!is_stream(handle) || object(handle)->context != current_context()) return 400;
  if (!object(handle)->valid) return 901;
  *stream = object(handle);
  return success;
}

int work(const char* function, StreamHandle* handle,
         const std::vector<std::pair<DevicePointer, std::size_t>>& ranges,
         const std::function<void()>& action) {
  if (const int code = enter(function)) return code;
  std::lock_guard lock(state().mutex);
  FakeStream* stream = nullptr;
  if (const int code = find_stream(handle, &stream)) return code;
  for (const auto& [where, bytes] : ranges)
    if (!is_allocated(where, bytes)) return invalid_value;
  if (!stream || !stream->capturing) action();
  return success;
}

}  // namespace diecast::testing

extern "C" {

int cuStreamCreate(StreamHandle** stream, unsigned flags) {
  if (const int code = enter("cuStreamCreate")) return code;
  if (flags > stream_non_blocking) return invalid_value;
  std::lock_guard lock(state().mutex);
  state().streams.push_back(std::make_unique<FakeStream>());
  state().streams.back()->context = current_context();
  *stream = reinterpret_cast<StreamHandle*>(state().streams.back().get());
  return success;
}

int cuStreamGetCtx(StreamHandle* stream, ContextHandle** context) {
  if (const int code = enter("cuStreamGetCtx")) return code;
  std::lock_guard lock(state().mutex);
  if (is_default(stream)) return cuCtxGetCurrent(context);
  if (!is_stream(stream)) return 400;
  *context = reinterpret_cast<ContextHandle*>(object(stream)->context);
  return success;
}

int cuStreamDestroy(StreamHandle* stream) {
  if (const int code = enter("cuStreamDestroy")) return code;
  std::lock_guard lock(state().mutex);
  if (!is_stream(stream)) return 400;
  object(stream)->alive = false;
  return success;
}

int cuStreamSynchronize(StreamHandle* stream) {
  if (const int code = enter("cuStreamSynchronize", true, true)) return code;
  FakeStream* found = nullptr;
  if (const int code = find_stream(stream, &found)) return code;
  if (found) std::this_thread::sleep_until(busy_until(*found));
  return success;
}

int cuStreamIsCapturing(StreamHandle* stream, int* status) {
  if (const int code = enter("cuStreamIsCapturing")) return code;
  std::lock_guard lock(state().mutex);
  *status = capture_status_none;
  if (is_default(stream)) return success;
  if (!is_stream(stream)) return 400;
  if (object(stream)->capturing) *status = object(stream)->valid ? capture_status_active : 2;
  return success;
}

int cuStreamBeginCapture(StreamHandle* stream, int) {
  std::lock_guard lock(state().mutex);
  if (!is_stream(stream) || object(stream)->capturing) return invalid_value;
  object(stream)->capturing = object(stream)->valid = true;
  return success;
}

int cuStreamEndCapture(StreamHandle* stream, GraphHandle** graph) {
  std::lock_guard lock(state().mutex);
  if (!is_stream(stream) || !object(stream)->capturing) return invalid_value;
  const bool valid = object(stream)->valid;
  object(stream)->capturing = false;
  object(stream)->valid = true;
  *graph = valid ? new_graph<GraphHandle>() : nullptr;
  return valid ? success : 901;
}

// A launch of a graph does nothing. What was captured stands in the script.
int cuGraphInstantiateWithFlags(GraphExecHandle** exec, GraphHandle* graph, unsigned long long) {
  if (const int code = enter("cuGraphInstantiateWithFlags")) return code;
  std::lock_guard lock(state().mutex);
  if (!state().script.graphs.contains(graph)) return invalid_value;
  *exec = new_graph<GraphExecHandle>();
  return success;
}

int cuGraphLaunch(GraphExecHandle* exec, StreamHandle* handle) {
  if (const int code = enter("cuGraphLaunch")) return code;
  std::lock_guard lock(state().mutex);
  if (!state().script.graphs.contains(exec)) return invalid_value;
  FakeStream* stream = nullptr;
  return find_stream(handle, &stream);
}

int cuGraphExecDestroy(GraphExecHandle* exec) { return destroy_graph("cuGraphExecDestroy", exec); }

int cuGraphDestroy(GraphHandle* graph) { return destroy_graph("cuGraphDestroy", graph); }

int cuStreamQuery(StreamHandle* handle) {
  if (const int code = enter("cuStreamQuery")) return code;
  FakeStream* stream = nullptr;
  if (const int code = find_stream(handle, &stream)) return code;
  return stream && std::chrono::steady_clock::now() < busy_until(*stream) ? 600 : success;
}

int cuEventCreate(EventHandle** event, unsigned) {
  if (const int code = enter("cuEventCreate")) return code;
  std::lock_guard lock(state().mutex);
  state().events.push_back(std::make_unique<FakeEvent>());
  *event = reinterpret_cast<EventHandle*>(state().events.back().get());
  return success;
}

int cuEventDestroy(EventHandle*) { return enter("cuEventDestroy"); }

int cuEventRecord(EventHandle* event, StreamHandle* handle) {
  if (const int code = enter("cuEventRecord")) return code;
  FakeStream* stream = nullptr;
  if (const int code = find_stream(handle, &stream)) return code;
  object(event)->captured = stream && stream->capturing;
  object(event)->recorded_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  return success;
}

int cuEventSynchronize(EventHandle* event) {
  if (const int code = enter("cuEventSynchronize", true, true)) return code;
  return object(event)->captured ? 907 : success;
}

int cuEventElapsedTime(float* ms, EventHandle* from, EventHandle* to) {
  if (const int code = enter("cuEventElapsedTime")) return code;
  if (object(from)->recorded_ns < 0 || object(to)->recorded_ns < 0) return 400;
  *ms = static_cast<float>(object(to)->recorded_ns - object(from)->recorded_ns) * 1e-6f;
  return success;
}

}  // extern "C"
