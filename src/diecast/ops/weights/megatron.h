// The functions that users of Megatron look for, by its names, over the ops of this folder.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>
#include <diecast/ops/weights/master_weights.h>
#include <diecast/runtime/runtime.h>

#include <cstdint>
#include <span>

namespace diecast {

bool is_nvfp4tensor(const QuantizedTensor& tensor);

// The shape of rowwise data in bytes: the last dimension halved; no dimensions stay none. Errors:
// shape_mismatch for an odd last dimension.
Result<Shape> get_nvfp4_rowwise_packed_shape(const Shape& shape);

// Moves a weight's rowwise data to `storage`, a part of a larger buffer: u8, dense, as many bytes
// as the data. The bytes are copied, and the copy is done when this returns; only then the weight
// points there: after an error it is as it was. Errors: not_supported (no NVFP4), dtype_mismatch,
// shape_mismatch, missing_buffer, and those of the copy.
Result<void> modify_nvfp4_rowwise_storage(Device& device, QuantizedTensor& weight,
                                          const Tensor& storage, Stream stream = {});

// cast_master_weights_to_nvfp4 without gathering, as Megatron gathers its parameter buffers itself.
// `fragments` as in MasterCastOptions. Empty lists: nothing happens, and no rank is waited for.
Result<void> quantize_nvfp4_param_shard(
    Runtime& runtime, std::span<const QuantizedTensor> model_params,
    std::span<const Tensor> main_params, std::span<const std::int64_t> start_offsets,
    Communicator* data_parallel_group, std::span<void* const> fragments = {},
    const std::shared_ptr<Device>& device = nullptr, Stream stream = {});

// What tokens and other extents are padded to a multiple of.
enum class Fp4Recipe {
  any,       // 128: whole tiles of swizzled scales, so that every kernel takes it, grouped ones too
  hadamard,  // 64: casts fused with the random Hadamard transform take 64 rows at once
  gemm       // 32: 16 bytes of codes, the least that a matrix product's bulk copies take
};
int get_fp4_align_size(Fp4Recipe recipe = Fp4Recipe::any);

// out: f32, bf16 or f16 of the tensor's shape. Errors: as dequantize_nvfp4.
Result<void> dequantize_fp4_tensor(Runtime& runtime, const QuantizedTensor& tensor,
                                   const Tensor& out,
                                   const std::shared_ptr<Device>& device = nullptr,
                                   Stream stream = {});

// Where a parameter begins in Megatron's two buffers.
struct PackedParameter {
  std::int64_t element = 0;  // in the buffer of elements
  std::int64_t byte = 0;     // in the buffer of packed codes
};

// The buffers are padded each for itself, and rank r owns elements [r * elements / ranks, ...) but
// gathers bytes [r * bytes / ranks, ...): the same part of the model only if the buffer of elements
// has two for every byte, every parameter begins at the same place, and a rank's share is whole
// bytes. Errors: shape_mismatch naming what differs.
Result<void> check_packed_partition(std::int64_t elements, std::int64_t bytes, int ranks,
                                    std::span<const PackedParameter> parameters);

}  // namespace diecast
