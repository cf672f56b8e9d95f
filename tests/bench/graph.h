// What a launch takes where many are captured in one CUDA graph: the host is not part of it; in a
// process that has used other streams too (spin.h).
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>

#include <functional>
#include <memory>
#include <vector>

namespace diecast::tool {

class GraphTimes {
 public:
  static Result<GraphTimes> open(Runtime& runtime, const std::shared_ptr<Device>& device,
                                 Stream stream);

  // Captures `calls` calls, each told which it is, on the stream.
  Result<void> add(int calls, const std::function<Result<void>(int)>& call);
  // Microseconds a call of each graph: medians of launches that take turns, each behind another of
  // its kind.
  Result<std::vector<double>> measure() const;

 private:
  GraphTimes(std::shared_ptr<Device> device, Stream stream)
      : device_(std::move(device)), stream_(stream) {}

  struct Graph {
    std::unique_ptr<RepeatedCalls> graph;
    int calls;
  };
  std::shared_ptr<Device> device_;
  Stream stream_;
  std::vector<Graph> graphs_;
};

}  // namespace diecast::tool
