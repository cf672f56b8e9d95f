// Casting shards of master weights to NVFP4 across the ranks of a group: every rank rewrites
// exactly its own codes, scales and amaxes are agreed on, and the result is to the bit what
// quantizing each whole weight in 16x16 blocks gives (profile te). At most four launches, however
// many weights.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>
#include <diecast/ops/weights/communicator.h>
#include <diecast/ops/weights/descriptor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace diecast {

struct MasterCastOptions {
  DType model = DType::bf16;  // what master values are rounded to first: bf16, f16 or f32
  // Gather the codes of all ranks, so that every rank has whole weights. false: the caller does, of
  // the bytes that shard_storage() calls sent.
  bool gather = true;
  // true: the columnwise side is made by post_all_gather_processing, called when every rank has the
  // whole weights. false is for formats whose columnwise side needs no such call; NVFP4's does.
  bool manual_post_all_gather_processing = true;
  // Linear scales lie in 128n rows of 4n columns (of MXFP8's columns, which lie as the data does:
  // 4n rows of 128n columns), zeros in the padding.
  bool padded_scales = false;
  int group_size = 0;  // not 0: an error when the communicator's is another
  // Why this rank's caller has no weights to give: every rank fails with it, and none waits. Null:
  // it has them.
  const Error* fault = nullptr;
  // Empty, or one a weight: where not null, the memory of the bytes that shard_storage() calls
  // touched, in place of the weight's own data, which may then be null. Only with gather = false.
  std::span<void* const> fragments{};
  std::span<void* const> column_fragments{};  // the same of MXFP8's columnwise data
  std::shared_ptr<Device> device{};           // null: Runtime::default_device()
};

// model_weights: NVFP4, two-dimensional, 16x16 blocks, one layout, rowwise buffers in device
// memory; a rank that owns nothing of a weight, and does not gather, may leave its data null, and a
// weight without elements needs no buffers.
// master_shards: f32 or bf16 (all of one type), dense, one a weight; without elements for a weight
// the rank does not own. start_offsets: the flat index of a shard's first element. communicator:
// null for a group of one; all its ranks make this call with the same weights and options. Writes
// codes, scales and amax of the rowwise side. Allocates, and waits for the stream: in a loop use
// PreparedMasterCast. Errors, the same on every rank and before any kernel runs: shape_mismatch,
// dtype_mismatch, missing_buffer, misaligned, invalid_argument (ranges, lists, plans that differ),
// not_supported, and those of preparing; but a rank that has no device, or not a kilobyte of its
// memory for each rank, cannot speak to the others and fails alone.
Result<void> cast_master_weights_to_nvfp4(
    Runtime& runtime, std::span<const QuantizedTensor> model_weights,
    std::span<const Tensor> master_shards, std::span<const std::int64_t> start_offsets,
    Communicator* communicator, const MasterCastOptions& options = {}, Stream stream = {});

// The same for weights in MXFP8, E4M3 or E5M2, with 1x32 blocks and both directions: the result is
// what quantize_mx makes of each whole weight (profile te). The call writes and gathers codes and
// scales of both directions, so nothing is left to do after the gathering.
Result<void> cast_master_weights_to_mxfp8(
    Runtime& runtime, std::span<const QuantizedTensor> model_weights,
    std::span<const Tensor> master_shards, std::span<const std::int64_t> start_offsets,
    Communicator* communicator, const MasterCastOptions& options = {}, Stream stream = {});

struct MasterCastRequest {
  static constexpr std::string_view kName = "cast_master_weights";
  DType master = DType::f32;      // of the shards' values
  DType model = DType::bf16;      // as in the options
  Format format = Format::nvfp4;  // of the weights: or mxfp8_e4m3, mxfp8_e5m2
  ScaleLayout layout = ScaleLayout::linear;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.master), as("MODEL", self.model);
    as("FORMAT", self.format), as("LAYOUT", self.layout);
  }
  // In the order of their launches.
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class DeviceMemory;   // launch/device_memory.h
struct WeightFamily;  // checks.h

// Of NVFP4 or MXFP8, whichever the first weight is. Copies share their state, device memory with
// it: one runs at a time, and one lives as long as graphs that captured a run.
class PreparedMasterCast {
 public:
  using Request = MasterCastRequest;
  PreparedMasterCast() = default;  // until it is assigned to, run() is an error
  // The lists may go afterwards; the memory they point to and the communicator stay. Waits for the
  // stream.
  static Result<PreparedMasterCast> prepare(
      Runtime& runtime, std::span<const QuantizedTensor> model_weights,
      std::span<const Tensor> master_shards, std::span<const std::int64_t> start_offsets,
      Communicator* communicator, const MasterCastOptions& options = {}, Stream stream = {});

  // Device memory that one run needs, at a multiple of 16 bytes; what is in it does not matter.
  std::int64_t scratch_bytes() const;
  // Allocates and waits for nothing of ours. Every rank of the group runs.
  Result<void> run(void* scratch, Stream stream) const;

 private:
  friend Result<void> cast_master_weights_to_nvfp4(Runtime&, std::span<const QuantizedTensor>,
                                                   std::span<const Tensor>,
                                                   std::span<const std::int64_t>, Communicator*,
                                                   const MasterCastOptions&, Stream);
  friend Result<void> cast_master_weights_to_mxfp8(Runtime&, std::span<const QuantizedTensor>,
                                                   std::span<const Tensor>,
                                                   std::span<const std::int64_t>, Communicator*,
                                                   const MasterCastOptions&, Stream);
  // With `scratch`, one run's is allocated too, before the ranks agree.
  static Result<PreparedMasterCast> prepare_family(const WeightFamily& family, Runtime& runtime,
                                                   std::span<const QuantizedTensor> model_weights,
                                                   std::span<const Tensor> master_shards,
                                                   std::span<const std::int64_t> start_offsets,
                                                   Communicator* communicator,
                                                   const MasterCastOptions& options, Stream stream,
                                                   DeviceMemory* scratch);
  static Result<void> cast_once(const WeightFamily& family, Runtime& runtime,
                                std::span<const QuantizedTensor> model_weights,
                                std::span<const Tensor> master_shards,
                                std::span<const std::int64_t> start_offsets,
                                Communicator* communicator, const MasterCastOptions& options,
                                Stream stream);
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace diecast
