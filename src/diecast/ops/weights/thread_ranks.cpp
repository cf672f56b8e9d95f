// Ranks that are threads: every call is a meeting. Each rank brings its bytes, the last to arrive
// puts them together, each takes the result home, and nobody begins the next call before all have.
#include <diecast/base/file.h>
#include <diecast/base/hash.h>
#include <diecast/base/text.h>
#include <diecast/ops/weights/thread_ranks.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

namespace diecast {
namespace {

using RankBytes = std::vector<std::uint8_t>;
using AllBytes = std::shared_ptr<const std::vector<RankBytes>>;

// Where the ranks meet.
class Meeting {
 public:
  Meeting(int size, std::chrono::milliseconds patience)
      : size_(size), patience_(patience), brought_(static_cast<std::size_t>(size)) {}

  int size() const { return size_; }

  // Brings `bytes` to the call that `call` describes, and gives back what every rank brought, in
  // their order. The texts of all ranks must be equal.
  Result<AllBytes> meet(int rank, const std::string& call, RankBytes bytes) {
    std::unique_lock lock(mutex_);
    if (failure_) return *failure_;
    const std::uint64_t round = round_;
    if (arrived_ == 0) call_ = call;
    if (call != call_) return fail(other_call(rank, call));
    brought_[static_cast<std::size_t>(rank)] = std::move(bytes);
    if (++arrived_ == size_) {
      result_ = std::make_shared<std::vector<RankBytes>>(std::move(brought_));
      brought_.assign(static_cast<std::size_t>(size_), {});
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
      return result_;
    }
    const auto over = [&] { return round_ != round || failure_.has_value(); };
    if (!all_here_.wait_for(lock, patience_, over)) return fail(nobody_came());
    // A round that is over has its result, even if a later one failed: nobody could leave it
    // behind.
    if (round_ == round) return *failure_;
    return result_;
  }

 private:
  Error fail(Error error) {
    failure_ = error;
    all_here_.notify_all();
    return error;
  }
  Error other_call(int rank, const std::string& call) const {
    return {ErrorCode::invalid_argument,
            cat("rank ", rank, " calls ", call, ", the others ", call_),
            "every rank makes the same calls, with the same counts and offsets, in the same order"};
  }
  Error nobody_came() const {
    return {ErrorCode::timed_out,
            cat(arrived_, " of ", size_, " ranks came to ", call_, " within ", patience_.count(),
                " ms"),
            "every rank makes the same calls; a longer patience is thread_ranks' last argument"};
  }

  const int size_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::string call_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  std::vector<RankBytes> brought_;
  AllBytes result_;  // of the last round that is over
  std::optional<Error> failure_;
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(std::shared_ptr<Meeting> meeting, int rank, std::shared_ptr<Device> device)
      : meeting_(std::move(meeting)), rank_(rank), device_(std::move(device)) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

  Result<void> all_reduce_max(float* values, std::int64_t count, Stream stream) override {
    RankBytes mine(static_cast<std::size_t>(count) * sizeof(float));
    DIECAST_CHECK(device_->copy_to_host(mine.data(), values, mine.size(), stream));
    DIECAST_CHECK(device_->synchronize(stream));
    DIECAST_TRY(const auto all,
                meeting_->meet(rank_, cat("all_reduce_max of ", count), std::move(mine)));
    std::vector<float> largest(static_cast<std::size_t>(count)), other(largest.size());
    for (const RankBytes& bytes : *all) {
      std::memcpy(other.data(), bytes.data(), bytes.size());
      for (std::size_t i = 0; i < other.size(); ++i) {
        largest[i] = &bytes == &all->front() ? other[i] : std::max(largest[i], other[i]);
      }
    }
    const std::size_t size = largest.size() * sizeof(float);
    DIECAST_CHECK(device_->copy_to_device(values, largest.data(), size, stream));
    return device_->synchronize(stream);
  }

  Result<void> all_gather(std::span<const Gather> gathers, Stream stream) override {
    RankBytes mine;
    for (const Gather& gather : gathers) {
      const std::size_t at = mine.size(), count = part(gather.counts, rank_);
      mine.resize(at + count);
      const auto* from = static_cast<std::uint8_t*>(gather.buffer) + part(gather.offsets, rank_);
      DIECAST_CHECK(device_->copy_to_host(mine.data() + at, from, count, stream));
    }
    DIECAST_CHECK(device_->synchronize(stream));
    DIECAST_TRY(const auto all, meeting_->meet(rank_, call_of(gathers), std::move(mine)));
    for (int r = 0; r < size(); ++r) {
      if (r != rank_) DIECAST_CHECK(take(gathers, r, (*all)[static_cast<std::size_t>(r)], stream));
    }
    return device_->synchronize(stream);
  }

 private:
  static std::size_t part(std::span<const std::int64_t> of_ranks, int rank) {
    return static_cast<std::size_t>(of_ranks[static_cast<std::size_t>(rank)]);
  }
  // Equal for equal counts and offsets of all ranks.
  static std::string call_of(std::span<const Gather> gathers) {
    Bytes places;
    for (const Gather& gather : gathers) {
      for (const auto of_ranks : {gather.counts, gather.offsets}) {
        const ByteSpan bytes = std::as_bytes(of_ranks);
        places.insert(places.end(), bytes.begin(), bytes.end());
      }
    }
    return cat("all_gather of ", gathers.size(),
               " buffers (their counts and offsets: ", hex16(xxh3_128(places).low), ")");
  }
  // Rank r's parts into this rank's buffers.
  Result<void> take(std::span<const Gather> gathers, int r, const RankBytes& bytes, Stream stream) {
    std::size_t at = 0;
    for (const Gather& gather : gathers) {
      const std::size_t count = part(gather.counts, r);
      auto* to = static_cast<std::uint8_t*>(gather.buffer) + part(gather.offsets, r);
      DIECAST_CHECK(device_->copy_to_device(to, bytes.data() + at, count, stream));
      at += count;
    }
    return {};
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
  std::shared_ptr<Device> device_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> thread_ranks(
    const std::vector<std::shared_ptr<Device>>& devices, std::chrono::milliseconds patience) {
  const auto meeting = std::make_shared<Meeting>(static_cast<int>(devices.size()), patience);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (const auto& device : devices) {
    ranks.push_back(std::make_shared<ThreadRank>(meeting, static_cast<int>(ranks.size()), device));
  }
  return ranks;
}

}  // namespace diecast
