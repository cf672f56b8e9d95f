// A caller's DLTensor as ops and kernels take it: checked, and then a view of diecast's own.
#pragma once

#include <diecast/base/error.h>
#include <diecast/c/abi.h>
#include <diecast/launch/device.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace diecast::c {

// The element type; none for one that diecast does not know, as packed E2M1 in its own type.
std::optional<DType> dtype_of(const diecast_tensor& tensor);
void set_type(diecast_tensor& tensor, DType type);
// "bf16", or what there is: "float64", "code 17, 4 bits, 2 lanes".
std::string type_text(const diecast_tensor& tensor);

// What messages call a tensor: "quantize_nvfp4: x".
struct TensorName {
  std::string_view op, tensor;
  std::string text() const;
};

// Bytes that a tensor covers: `rows` of `width`, `pitch` apart.
struct Extent {
  std::uintptr_t begin = 0;
  std::int64_t rows = 0, width = 0, pitch = 0;
};
// Checks everything that the structure says of itself, and that rows are all that is apart. Errors:
// invalid_argument (no shape, a negative size), shape_mismatch (more dimensions than 8, beyond 63
// bits, strides), missing_buffer, dtype_mismatch (no numbers).
Result<Extent> check_tensor(const diecast_tensor& tensor, const TensorName& name);
// That it lies where the device reads it. Errors: invalid_argument.
Result<void> check_place(const diecast_tensor& tensor, const Device& device,
                         const TensorName& name);

// What follows is for tensors that passed check_tensor(); null is fine where it says so.

Shape shape_of(const diecast_tensor& tensor);
void* data_of(const diecast_tensor* tensor);  // null: null
std::int64_t elements_of(const diecast_tensor& tensor);
// Elements from one row to the next; 0: dense.
std::int64_t row_stride_of(const diecast_tensor& tensor);

// The view of a tensor of numbers. Errors: missing_buffer (null), dtype_mismatch.
Result<Tensor> tensor_of(const diecast_tensor* tensor, const TensorName& name,
                         const diecast_tensor* device_rows = nullptr);
// The view of bytes as elements of `type`, of 8 bits, whichever type they are written in; of packed
// E2M1 as bytes. Errors: missing_buffer, dtype_mismatch.
Result<Tensor> view_as(const diecast_tensor* tensor, DType type, const TensorName& name);
// Dense memory of any type of 8 bits or less, or i32. Errors: missing_buffer, dtype_mismatch,
// shape_mismatch (rows apart).
struct DenseBytes {
  void* data = nullptr;
  std::int64_t count = 0;
};
Result<DenseBytes> bytes_of(const diecast_tensor* tensor, const TensorName& name);
// Block scales; those of the linear layout may have rows apart.
struct ScaleBytes {
  void* data = nullptr;
  std::int64_t count = 0, stride = 0;
};
Result<ScaleBytes> scales_of(const diecast_tensor* tensor, ScaleLayout layout,
                             const TensorName& name);
// Dense f32, `count` of them. Errors: as above, shape_mismatch.
Result<float*> floats_of(const diecast_tensor* tensor, std::int64_t count, const TensorName& name);
// The same of what may be left out: null then.
Result<float*> floats_if_given(const diecast_tensor* tensor, std::int64_t count,
                               const TensorName& name);
// Dense i64 and i32, `count` of them or more. Errors: as above.
Result<const std::int64_t*> integers_of(const diecast_tensor* tensor, std::int64_t count,
                                        const TensorName& name);
Result<const std::int32_t*> indices_of(const diecast_tensor* tensor, std::int64_t count,
                                       const TensorName& name);
// Codes a row of packed E2M1 has, whichever type it is written in.
std::int64_t packed_codes(const diecast_tensor& tensor);

}  // namespace diecast::c
