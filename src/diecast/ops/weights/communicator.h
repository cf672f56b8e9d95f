// What ranks say to each other while weights are quantized: a maximum of floats and a gathering of
// bytes, both in device memory and in the stream's order. Every rank makes the same calls in the
// same order. Implementations: nccl.h (the caller's ncclComm_t), thread_ranks.h (threads of this
// process), callback_communicator.h (a framework's own group).
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>

#include <cstdint>
#include <span>

namespace diecast {

// One buffer that every rank has a part of: rank r's is `counts[r]` bytes at `offsets[r]`, in its
// own copy of the buffer; afterwards every copy has all parts. Bytes in no part stay as they are.
struct Gather {
  void* buffer = nullptr;                 // device memory
  std::span<const std::int64_t> offsets;  // one a rank, in bytes
  std::span<const std::int64_t> counts;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // values[i] becomes the largest of all ranks' values[i], none of which is NaN.
  virtual Result<void> all_reduce_max(float* values, std::int64_t count, Stream stream) = 0;
  virtual Result<void> all_gather(std::span<const Gather> gathers, Stream stream) = 0;
};

}  // namespace diecast
