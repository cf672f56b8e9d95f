// Ranks agree in two gatherings: one of a record of fixed size, which tells of errors and different
// plans even where the numbers of weights differ, and then one of the shards.
#include <diecast/base/text.h>
#include <diecast/ops/weights/agreement.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace diecast {
namespace {

struct PlanRecord {
  Digest digest;
  std::int64_t weights = 0;
  std::int64_t group = 0;  // its ranks; 0: nobody sent this record
  std::int64_t code = -1;  // of the error, or none
  char what[496] = {};
  char fix[480] = {};
};
static_assert(sizeof(PlanRecord) == 1016);

template <std::size_t Size>
void copy_text(char (&to)[Size], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), Size - 1));
}

PlanRecord record_of(const Result<RankPlan>& plan, const Communicator& communicator) {
  PlanRecord record;
  record.group = communicator.size();
  if (plan) {
    record.digest = plan->record.digest();
    record.weights = static_cast<std::int64_t>(plan->shards.size());
  } else {
    record.code = static_cast<std::int64_t>(plan.error().code);
    copy_text(record.what, plan.error().what);
    copy_text(record.fix, plan.error().fix);
  }
  return record;
}

template <std::size_t Size>
std::string_view text_of(const char (&from)[Size]) {
  return {from, ::strnlen(from, Size)};
}

// What another process says of itself: neither its code nor the ends of its texts are taken on
// trust.
Error error_of(const PlanRecord& record, std::size_t rank) {
  constexpr auto kLast = static_cast<std::int64_t>(ErrorCode::internal);
  return {static_cast<ErrorCode>(std::min(record.code, kLast)),
          cat("rank ", rank, ": ", text_of(record.what)), std::string(text_of(record.fix))};
}

Error nothing_from(std::size_t rank) {
  return {ErrorCode::invalid_argument,
          cat("rank ", rank,
              " sent nothing: the communicator's all_gather left its bytes as they "
              "were"),
          "let all_gather copy every rank's bytes to their offset on each rank, before later work "
          "of the stream"};
}

// Equally many values of every rank, by way of `memory` on the device, which holds them all.
template <class T>
Result<std::vector<T>> gather_values(Communicator& communicator, Device& device, void* memory,
                                     const std::vector<T>& mine, Stream stream) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::size_t bytes = mine.size() * sizeof(T);
  std::vector<T> all(mine.size() * ranks);
  if (all.empty()) return all;
  std::vector<std::int64_t> offsets, counts(ranks, static_cast<std::int64_t>(bytes));
  for (std::size_t r = 0; r < ranks; ++r) offsets.push_back(static_cast<std::int64_t>(r * bytes));
  auto* own =
      static_cast<std::byte*>(memory) + static_cast<std::size_t>(communicator.rank()) * bytes;
  DIECAST_CHECK(device.copy_to_device(own, mine.data(), bytes, stream));
  const Gather gather{memory, offsets, counts};
  DIECAST_CHECK(communicator.all_gather({&gather, 1}, stream));
  DIECAST_CHECK(device.copy_to_host(all.data(), memory, bytes * ranks, stream));
  DIECAST_CHECK(device.synchronize(stream));
  return all;
}

// The error of all ranks, from what all of them said.
Result<void> check_records(const std::vector<PlanRecord>& records) {
  std::map<Digest, int> votes;
  for (std::size_t r = 0; r < records.size(); ++r) {
    if (records[r].group == 0) return nothing_from(r);
    if (records[r].code >= 0) return error_of(records[r], r);
    ++votes[records[r].digest];
  }
  const PlanRecord* common = &records.front();
  for (const PlanRecord& record : records) {
    if (votes[record.digest] > votes[common->digest]) common = &record;
  }
  for (std::size_t r = 0; r < records.size(); ++r) {
    if (records[r].digest == common->digest) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("rank ", r, " plans ", records[r].weights, " weights in a group of ",
                     records[r].group, ", the others ", common->weights, " in a group of ",
                     common->group, ", and the plans differ"),
                 cat("give rank ", r, " the same weights (shapes, layouts, order) and options")};
  }
  return {};
}

}  // namespace

Result<Agreement> Agreement::open(Communicator* communicator, std::shared_ptr<Device> device) {
  Agreement out;
  out.communicator_ = communicator;
  out.device_ = std::move(device);
  if (communicator == nullptr) return out;
  const auto ranks = static_cast<std::size_t>(communicator->size());
  DIECAST_TRY(out.records_, DeviceMemory::allocate(out.device_, ranks * sizeof(PlanRecord)));
  return out;
}

Result<void> Agreement::reserve(std::size_t weights) {
  if (communicator_ == nullptr) return {};
  const std::size_t bytes = weights * sizeof(ShardRange);
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  DIECAST_TRY(shards_, DeviceMemory::allocate(device_, ranks * bytes));
  return {};
}

Result<std::vector<std::vector<ShardRange>>> Agreement::agree(const Result<RankPlan>& plan,
                                                              Stream stream) {
  if (communicator_ == nullptr) {
    if (!plan) return plan.error();
    return std::vector<std::vector<ShardRange>>{plan->shards};
  }
  const std::vector<PlanRecord> mine = {record_of(plan, *communicator_)};
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  DIECAST_CHECK(device_->fill(records_.data(), 0, ranks * sizeof(PlanRecord), stream));
  DIECAST_TRY(const auto records,
              gather_values(*communicator_, *device_, records_.data(), mine, stream));
  DIECAST_CHECK(check_records(records));
  DIECAST_TRY(const auto shards,
              gather_values(*communicator_, *device_, shards_.data(), plan->shards, stream));
  const auto weights = static_cast<std::ptrdiff_t>(plan->shards.size());
  std::vector<std::vector<ShardRange>> of_ranks;
  for (std::ptrdiff_t r = 0; r < communicator_->size(); ++r) {
    of_ranks.emplace_back(shards.begin() + r * weights, shards.begin() + (r + 1) * weights);
  }
  return of_ranks;
}

Result<void> check_shards(const std::vector<std::vector<ShardRange>>& of_ranks,
                          std::span<const std::int64_t> elements, bool covered) {
  for (std::size_t weight = 0; weight < elements.size(); ++weight) {
    std::vector<std::pair<ShardRange, std::size_t>> shards;
    for (std::size_t r = 0; r < of_ranks.size(); ++r) {
      if (!of_ranks[r][weight].empty()) shards.emplace_back(of_ranks[r][weight], r);
    }
    std::sort(shards.begin(), shards.end(),
              [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    std::int64_t end = 0;
    std::size_t owner = 0;
    shards.emplace_back(ShardRange{elements[weight], elements[weight]}, of_ranks.size());
    for (const auto& [shard, rank] : shards) {
      if (shard.begin < end) {
        return Error{ErrorCode::invalid_argument,
                     cat("weight ", weight, ": elements ", shard.begin, " to ", end,
                         " belong to rank ", owner, " and to rank ", rank),
                     "give every element of a weight to one rank"};
      }
      if (covered && shard.begin > end) {
        return Error{
            ErrorCode::invalid_argument,
            cat("weight ", weight, ": elements ", end, " to ", shard.begin, " belong to no rank"),
            "give every element of a weight to one rank, or set gather = false"};
      }
      end = shard.end;
      owner = rank;
    }
  }
  return {};
}

}  // namespace diecast
