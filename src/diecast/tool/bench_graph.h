// What a launch takes where many are captured in one CUDA graph: the host is not part of it.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/tool/tool_driver.h>

#include <functional>
#include <memory>
#include <vector>

namespace diecast::tool {

class GraphTimes {
 public:
  // The driver outlives this.
  GraphTimes(const ToolDriver& driver, std::shared_ptr<Device> device, Stream stream)
      : driver_(driver), device_(std::move(device)), stream_(stream) {}

  // Captures `calls` calls, each told which it is, on the stream.
  Result<void> add(int calls, const std::function<Result<void>(int)>& call);
  // Microseconds a call of each graph: medians of launches that take turns, each behind another of
  // its kind.
  Result<std::vector<double>> measure() const;

 private:
  struct Graph {
    ReplayedGraph graph;
    int calls;
  };
  const ToolDriver& driver_;
  std::shared_ptr<Device> device_;
  Stream stream_;
  std::vector<Graph> graphs_;
};

}  // namespace diecast::tool
