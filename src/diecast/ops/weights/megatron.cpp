// Megatron's names; see megatron.h.
#include <diecast/base/text.h>
#include <diecast/ops/nvfp4/dequantize_nvfp4.h>
#include <diecast/ops/weights/megatron.h>

namespace diecast {

bool is_nvfp4tensor(const QuantizedTensor& tensor) { return tensor.type.format == Format::nvfp4; }

Result<Shape> get_nvfp4_rowwise_packed_shape(const Shape& shape) {
  DIECAST_CHECK(shape.elements());
  if (shape.rank == 0) return shape;
  const std::int64_t last = shape.cols();
  if (last % 2 != 0) {
    return Error{ErrorCode::shape_mismatch,
                 cat("shape ", shape.text(), " has an odd last dimension, two codes make a byte"),
                 cat("pad the last dimension to ", last + 1)};
  }
  Shape packed = shape;
  packed.dims[static_cast<std::size_t>(shape.rank - 1)] = last / 2;
  return packed;
}

Result<void> modify_nvfp4_rowwise_storage(Device& device, QuantizedTensor& weight,
                                          const Tensor& storage, Stream stream) {
  if (!is_nvfp4tensor(weight)) {
    return Error{ErrorCode::not_supported, cat("the weight is ", word(weight.type.format)),
                 "pass a weight in NVFP4"};
  }
  if (storage.dtype != DType::u8) {
    return Error{ErrorCode::dtype_mismatch, cat("the storage is ", dtype_name(storage.dtype)),
                 "pass a u8 tensor: packed codes are bytes"};
  }
  DIECAST_CHECK(storage.check("storage"));
  DIECAST_TRY(const QuantizedSide need, weight.rowwise_sizes());
  const std::int64_t bytes = storage.rows() * storage.cols();
  if (bytes != need.data_bytes || (storage.rows() > 1 && storage.stride() != storage.cols())) {
    return Error{ErrorCode::shape_mismatch,
                 cat("the storage is ", storage.shape.text(), " with ", bytes, " bytes, a weight ",
                     weight.shape.text(), " has ", need.data_bytes),
                 cat("pass a dense view of ", need.data_bytes, " bytes")};
  }
  if (weight.rowwise.data == nullptr && bytes > 0) {
    return Error{ErrorCode::missing_buffer, "the weight has no rowwise data to move",
                 "set rowwise.data yourself: there is nothing to copy"};
  }
  if (weight.rowwise.data_bytes < bytes) {
    return Error{ErrorCode::shape_mismatch,
                 cat("the weight's rowwise data has ", weight.rowwise.data_bytes,
                     " bytes, a weight ", weight.shape.text(), " has ", bytes),
                 "set rowwise as rowwise_sizes() has it"};
  }
  const auto size = static_cast<std::size_t>(bytes);
  DIECAST_CHECK(device.copy_on_device(storage.data, weight.rowwise.data, size, stream));
  DIECAST_CHECK(device.synchronize(stream));
  weight.rowwise.data = storage.data;
  weight.rowwise.data_bytes = bytes;
  return {};
}

Result<void> quantize_nvfp4_param_shard(Runtime& runtime,
                                        std::span<const QuantizedTensor> model_params,
                                        std::span<const Tensor> main_params,
                                        std::span<const std::int64_t> start_offsets,
                                        Communicator* data_parallel_group,
                                        std::span<void* const> fragments,
                                        const std::shared_ptr<Device>& device, Stream stream) {
  if (model_params.empty()) return {};
  MasterCastOptions options;
  options.gather = false;
  options.fragments = fragments;
  options.device = device;
  return cast_master_weights_to_nvfp4(runtime, model_params, main_params, start_offsets,
                                      data_parallel_group, options, stream);
}

int get_fp4_align_size(Fp4Recipe recipe) {
  return recipe == Fp4Recipe::gemm ? 32 : recipe == Fp4Recipe::hadamard ? 64 : 128;
}

Result<void> dequantize_fp4_tensor(Runtime& runtime, const QuantizedTensor& tensor,
                                   const Tensor& out, const std::shared_ptr<Device>& device,
                                   Stream stream) {
  return dequantize_nvfp4(runtime, tensor, out, {GlobalForm::amax, device}, stream);
}

namespace {

// Of 0 or more bytes of packed codes; two for each fit in 64 bits.
std::uint64_t elements_in(std::int64_t bytes) { return 2 * static_cast<std::uint64_t>(bytes); }

bool fits(std::int64_t elements, std::int64_t bytes) {
  return static_cast<std::uint64_t>(elements) == elements_in(bytes);
}

}  // namespace

Result<void> check_packed_partition(std::int64_t elements, std::int64_t bytes, int ranks,
                                    std::span<const PackedParameter> parameters) {
  if (elements < 0 || bytes < 0) {
    return Error{ErrorCode::shape_mismatch,
                 cat("buffers of ", elements, " elements and ", bytes, " bytes"),
                 "sizes are 0 or more"};
  }
  if (!fits(elements, bytes)) {
    return Error{ErrorCode::shape_mismatch,
                 cat("the buffers have ", elements, " elements and ", bytes,
                     " bytes of packed codes, which is ", elements_in(bytes), " elements"),
                 cat("pad the packed buffer to ", ceil_div(elements, 2), " bytes")};
  }
  if (ranks < 1 || bytes % ranks != 0) {
    return Error{ErrorCode::shape_mismatch,
                 cat(bytes, " bytes of packed codes for ", ranks, " ranks"),
                 "pad both buffers so that every rank has the same number of whole bytes"};
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto [element, byte] = parameters[i];
    if (element < 0 || byte < 0) {
      return Error{ErrorCode::shape_mismatch,
                   cat("parameter ", i, " begins at element ", element, " and at byte ", byte),
                   "places in a buffer count from 0"};
    }
    if (fits(element, byte)) continue;
    return Error{ErrorCode::shape_mismatch,
                 cat("parameter ", i, " begins at element ", element, " and at byte ", byte,
                     ", which is element ", elements_in(byte)),
                 "pad both buffers alike: a byte holds two elements"};
  }
  return {};
}

}  // namespace diecast
