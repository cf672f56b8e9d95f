// Timing graphs in turns; see graph.h.
#include "bench/graph.h"

#include <diecast/runtime/tuning/trial.h>
#include <diecast/tool/spin.h>

#include <utility>

#include "bench/bench.h"

namespace diecast::tool {
namespace {

constexpr int kGraphTurns = 15;

}  // namespace

Result<GraphTimes> GraphTimes::open(Runtime& runtime, const std::shared_ptr<Device>& device,
                                    Stream stream) {
  DIECAST_CHECK(use_other_streams(runtime, device));
  return GraphTimes(device, stream);
}

Result<void> GraphTimes::add(int calls, const std::function<Result<void>(int)>& call) {
  const auto all = [calls, call]() -> Result<void> {  // the host calls it again each time
    for (int i = 0; i < calls; ++i) DIECAST_CHECK(call(i));
    return {};
  };
  DIECAST_TRY(auto graph, device_->capture(stream_, all));
  graphs_.push_back({std::move(graph), calls});
  return {};
}

Result<std::vector<double>> GraphTimes::measure() const {
  DIECAST_TRY(const Event from, device_->create_event());
  DIECAST_TRY(const Event to, device_->create_event());
  std::vector<std::vector<double>> us(graphs_.size());
  for (int turn = -1; turn < kGraphTurns; ++turn) {
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      DIECAST_TRY(const double ms, time_repetition(*device_, *graphs_[i].graph, from, to, stream_));
      if (turn >= 0) us[i].push_back(ms * 1e3 / graphs_[i].calls);
    }
  }
  DIECAST_CHECK(device_->destroy_event(from));
  DIECAST_CHECK(device_->destroy_event(to));
  std::vector<double> medians;
  for (auto& one : us) medians.push_back(median(std::move(one)));
  return medians;
}

}  // namespace diecast::tool
