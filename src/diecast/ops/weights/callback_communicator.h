// A communicator of the caller's functions, so that a framework's own process group can be used.
#pragma once

#include <diecast/ops/weights/communicator.h>

#include <functional>

namespace diecast {

struct CommunicatorCallbacks {
  // As Communicator's functions; all_gather is called once for every buffer.
  std::function<Result<void>(float* values, std::int64_t count, Stream stream)> all_reduce_max;
  std::function<Result<void>(const Gather& gather, Stream stream)> all_gather;
};

class CallbackCommunicator : public Communicator {
 public:
  // Errors: invalid_argument for a rank outside 0..size - 1 or an empty function.
  static Result<CallbackCommunicator> make(int rank, int size, CommunicatorCallbacks callbacks);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Result<void> all_reduce_max(float* values, std::int64_t count, Stream stream) override;
  Result<void> all_gather(std::span<const Gather> gathers, Stream stream) override;

 private:
  int rank_ = 0, size_ = 1;
  CommunicatorCallbacks callbacks_;
};

}  // namespace diecast
