// Refuses matrices that bulk copies cannot read, and asks the driver to describe the others.
#include <diecast/base/text.h>
#include <diecast/launch/tensor_map.h>

#include <algorithm>
#include <functional>

namespace diecast {
namespace {

constexpr unsigned kSide = 64;

Result<void> check(const MatrixOfBoxes& matrix) {
  if (matrix.dtype != DType::bf16 && matrix.dtype != DType::f16)
    return Error{ErrorCode::invalid_argument,
                 cat("a matrix of ", dtype_name(matrix.dtype), " has no boxes for tensor cores"),
                 "give bf16 or f16"};
  if (matrix.rows < 0 || matrix.cols < 0 || matrix.stride < matrix.cols)
    return Error{ErrorCode::invalid_argument,
                 cat("a matrix of ", matrix.rows, " x ", matrix.cols, " with rows ", matrix.stride,
                     " elements apart"),
                 "give extents of 0 or more, and rows that do not overlap"};
  if (reinterpret_cast<std::uintptr_t>(matrix.data) % 16 != 0 || matrix.stride % 8 != 0)
    return Error{ErrorCode::invalid_argument,
                 cat("a matrix at ", matrix.data, " with rows ", matrix.stride,
                     " elements apart: rows start at no multiples of 16 bytes"),
                 "align the matrix to 16 bytes, and make its row stride a multiple of 8"};
  return {};
}

// The device's driver, if it can describe boxes.
Result<const Driver*> driver_of(const Device& device) {
  const Driver* const driver = device.cuda_driver();
  if (driver == nullptr)
    return Error{
        ErrorCode::not_supported,
        cat("boxes of a matrix are for bulk copies, which ", device.properties().name, " has not"),
        "give a CUDA GPU"};
  if (!driver->cuTensorMapEncodeTiled)
    return Error{ErrorCode::driver_unavailable,
                 cat("boxes of a matrix need cuTensorMapEncodeTiled, which ", driver->path(),
                     " (CUDA ", driver->version_text(), ") lacks"),
                 "install an NVIDIA driver of CUDA 12.0 or newer (525.60 or later)"};
  return driver;
}

}  // namespace

Result<cuda::TensorMap> map_boxes(Device& device, const MatrixOfBoxes& matrix) {
  DIECAST_CHECK(check(matrix));
  DIECAST_TRY(const Driver* const driver, driver_of(device));
  const auto at_least_one = [](std::int64_t extent) {  // the driver takes no 0
    return static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
  };
  const std::uint64_t extents[] = {at_least_one(matrix.cols), at_least_one(matrix.rows)};
  const std::uint64_t strides[] = {2 * std::max<std::uint64_t>(at_least_one(matrix.stride), 8)};
  constexpr unsigned kBox[] = {kSide, kSide}, kSteps[] = {1, 1};
  const int type = matrix.dtype == DType::bf16 ? cuda::tensor_map_bf16 : cuda::tensor_map_f16;
  cuda::TensorMap map{};
  const auto describe = [&]() -> Result<void> {
    const cuda::Result result = driver->cuTensorMapEncodeTiled(
        &map, type, 2, const_cast<void*>(matrix.data), extents, strides, kBox, kSteps,
        cuda::interleave_none, cuda::swizzle_128_bytes, cuda::promotion_256_bytes,
        cuda::fill_zeros);
    if (result == cuda::success) return {};
    return driver->failure(result, "cuTensorMapEncodeTiled", "describing the boxes of a matrix");
  };
  DIECAST_CHECK(device.in_context(std::ref(describe)));  // a copy would take memory
  return map;
}

}  // namespace diecast
