// After every rank has the whole codes of its weights: the columnwise side of each, made from the
// rowwise one, because 16x16 blocks quantize alike in both directions. Two launches, however many
// weights.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/weights/descriptor.h>
#include <diecast/runtime/runtime.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace diecast {

struct PostAllGatherOptions {
  bool padded_scales = false;        // as MasterCastOptions has it, for both directions
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// weights: NVFP4, two-dimensional, 16x16 blocks, one layout, both directions' buffers in device
// memory, data at multiples of 4 bytes. Writes codes, scales and amax of the columnwise sides.
// Allocates, and waits for the stream: in a loop use PreparedPostAllGather. Errors: shape_mismatch,
// missing_buffer, misaligned, not_supported, and those of preparing.
Result<void> post_all_gather_processing(Runtime& runtime, std::span<const QuantizedTensor> weights,
                                        const PostAllGatherOptions& options = {},
                                        Stream stream = {});

struct PostAllGatherRequest {
  static constexpr std::string_view kName = "post_all_gather_processing";
  ScaleLayout layout = ScaleLayout::linear;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("LAYOUT", self.layout);
  }
  // In the order of their launches.
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

// Copies share their state, device memory with it, which lives as long as one of them: keep one as
// long as graphs that captured a run.
class PreparedPostAllGather {
 public:
  using Request = PostAllGatherRequest;
  // The list may go afterwards, the memory it points to stays. Waits for the stream.
  static Result<PreparedPostAllGather> prepare(Runtime& runtime,
                                               std::span<const QuantizedTensor> weights,
                                               const PostAllGatherOptions& options = {},
                                               Stream stream = {});
  // Allocates and waits for nothing.
  Result<void> run(Stream stream) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace diecast
