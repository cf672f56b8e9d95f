// Before the first kernel runs, ranks make sure that they mean the same: each tells the others what
// it plans, or why it cannot, and all of them go on or all fail with the same error.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/ops/weights/communicator.h>
#include <diecast/ops/weights/shard.h>

#include <span>
#include <string_view>
#include <vector>

namespace diecast {

// A rank's plan: what must be the same everywhere (the record), and its own shards.
struct RankPlan {
  Record record;
  std::vector<ShardRange> shards;  // one a weight
};

// Every rank's shards, or one error for all: that of the first rank whose plan is an error, behind
// its "rank 2: ", or invalid_argument naming a rank whose record is not the most common one.
// Without a communicator the plan itself. Waits for the stream. A rank that has no memory for the
// exchange fails alone, as it cannot tell the others; everything else is allocated before.
Result<std::vector<std::vector<ShardRange>>> agree(Communicator* communicator, Device& device,
                                                   const Result<RankPlan>& plan, Stream stream);

// What every rank then checks for itself, with the same outcome: no element of a weight belongs to
// two ranks and, with `covered`, each to one. Errors: invalid_argument.
Result<void> check_shards(const std::vector<std::vector<ShardRange>>& of_ranks,
                          std::span<const std::int64_t> elements, bool covered);

}  // namespace diecast
