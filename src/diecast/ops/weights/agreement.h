// Before the first kernel runs, ranks make sure that they mean the same: each tells the others what
// it plans, or why it cannot, and all of them go on or all fail with the same error.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/launch/device_memory.h>
#include <diecast/ops/weights/communicator.h>
#include <diecast/ops/weights/shard.h>

#include <memory>
#include <span>
#include <vector>

namespace diecast {

// A rank's plan: what must be the same everywhere (the record), and its own shards.
struct RankPlan {
  Record record;
  std::vector<ShardRange> shards;  // one a weight
};

// Where ranks tell each other of their plans. Its memory is taken before there is a plan, so that a
// rank which finds none for what it plans can still say so; only one that has not even a kilobyte
// a rank fails alone, as communicators speak through device memory.
class Agreement {
 public:
  // Without a communicator there is nothing to take.
  static Result<Agreement> open(Communicator* communicator, std::shared_ptr<Device> device);
  // Memory for the shards of so many weights on every rank.
  Result<void> reserve(std::size_t weights);
  // Every rank's shards, or one error for all: that of the first rank whose plan is an error,
  // behind its "rank 2: ", or invalid_argument naming a rank that sent nothing, or whose record is
  // not the most common one. A plan without an error has its memory reserved. Without a
  // communicator the plan itself. Waits for the stream.
  Result<std::vector<std::vector<ShardRange>>> agree(const Result<RankPlan>& plan, Stream stream);

 private:
  Communicator* communicator_ = nullptr;
  std::shared_ptr<Device> device_;
  DeviceMemory records_, shards_;
};

// What every rank then checks for itself, with the same outcome: no element of a weight belongs to
// two ranks and, with `covered`, each to one. Errors: invalid_argument.
Result<void> check_shards(const std::vector<std::vector<ShardRange>>& of_ranks,
                          std::span<const std::int64_t> elements, bool covered);

}  // namespace diecast
