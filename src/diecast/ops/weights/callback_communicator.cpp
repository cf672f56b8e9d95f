// A communicator of the caller's functions; see callback_communicator.h.
#include <diecast/base/text.h>
#include <diecast/ops/weights/callback_communicator.h>

namespace diecast {

Result<CallbackCommunicator> CallbackCommunicator::make(int rank, int size,
                                                        CommunicatorCallbacks callbacks) {
  if (size < 1 || rank < 0 || rank >= size) {
    return Error{ErrorCode::invalid_argument, cat("rank ", rank, " of a group of ", size),
                 "ranks count from 0 to the group's size - 1"};
  }
  if (!callbacks.all_reduce_max || !callbacks.all_gather) {
    return Error{ErrorCode::invalid_argument,
                 cat("the callback ", callbacks.all_reduce_max ? "all_gather" : "all_reduce_max",
                     " is empty"),
                 "set both functions of CommunicatorCallbacks"};
  }
  CallbackCommunicator communicator;
  communicator.rank_ = rank;
  communicator.size_ = size;
  communicator.callbacks_ = std::move(callbacks);
  return communicator;
}

Result<void> CallbackCommunicator::all_reduce_max(float* values, std::int64_t count,
                                                  Stream stream) {
  return callbacks_.all_reduce_max(values, count, stream);
}

Result<void> CallbackCommunicator::all_gather(std::span<const Gather> gathers, Stream stream) {
  for (const Gather& gather : gathers) DIECAST_CHECK(callbacks_.all_gather(gather, stream));
  return {};
}

}  // namespace diecast
