// Casts of weights on a fake GPU: one rank's lists, and a group whose other rank plans the same.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ops/weight_list.h"
#include "runtime/fake_machine.h"

namespace diecast::weights_test {

// A rank's lists with its machine; elements [begin, end) of each weight are its own.
struct Alone {
  Alone(std::vector<std::pair<std::int64_t, std::int64_t>> shapes, std::int64_t begin,
        std::int64_t end)
      : device(machine.cuda.device()), runtime(machine.runtime()) {
    const Model model = Model::random(shapes, 1, false);
    Bounds bounds;
    for (const auto& [rows, cols] : shapes) {
      bounds.push_back({0, begin, std::min(end, rows * cols), rows * cols});
    }
    own = std::make_unique<RankWeights>(device, model, bounds, 1);
    shards = own->shards;
    options.device = device;
    options.gather = false;
  }
  Result<PreparedMasterCast> prepare(Communicator* communicator = nullptr) {
    return PreparedMasterCast::prepare(*runtime, own->weights, own->shards, own->starts,
                                       communicator, options);
  }
  std::vector<std::string> launched() const {
    std::vector<std::string> symbols;
    for (const auto& launch : machine.cuda->launches) symbols.push_back(launch.symbol);
    return symbols;
  }
  testing::FakeMachine machine;
  std::shared_ptr<Device> device;
  std::shared_ptr<Runtime> runtime;
  std::unique_ptr<RankWeights> own;
  std::vector<Tensor> shards;
  MasterCastOptions options;
};

// Rank 0 of two by way of callbacks: rank 1 plans the same and owns the elements behind rank 0's.
struct TwoRanks {
  explicit TwoRanks(const Alone& alone) {
    CommunicatorCallbacks callbacks;
    callbacks.all_reduce_max = [this](float*, std::int64_t, Stream) -> Result<void> {
      ++reduced;
      return {};
    };
    callbacks.all_gather = [this, &alone](const Gather& gather, Stream) -> Result<void> {
      auto* const buffer = static_cast<std::uint8_t*>(gather.buffer);  // host memory
      const auto own = static_cast<std::size_t>(gather.counts[0]);
      if (gathered == 0) std::memcpy(buffer + own, buffer, own);
      if (gathered == 1) {
        std::vector<ShardRange> others;
        for (std::size_t w = 0; w < alone.shards.size(); ++w) {
          const QuantizedTensor& weight = alone.own->weights[w];
          others.push_back({alone.shards[w].cols(), weight.rows() * weight.cols()});
        }
        std::memcpy(buffer + own, others.data(), own);
      }
      ++gathered;
      return {};
    };
    communicator =
        std::make_unique<CallbackCommunicator>(CallbackCommunicator::make(0, 2, callbacks).value());
  }
  int reduced = 0, gathered = 0;
  std::unique_ptr<CallbackCommunicator> communicator;
};

}  // namespace diecast::weights_test
