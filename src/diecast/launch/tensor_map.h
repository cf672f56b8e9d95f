// What a kernel's `tensor_map` argument is given: how bulk copies find boxes of a matrix.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>
#include <diecast/template/value.h>

#include <cstdint>

namespace diecast {

// A matrix in device memory: [rows, cols] of bf16 or f16, with `stride` elements from one row to
// the next.
struct MatrixOfBoxes {
  DType dtype;
  const void* data;
  std::int64_t rows, cols, stride;
};

// Boxes of 64 rows by 64 columns, in shared memory 128 bytes a row, whose pieces of 16 bytes change
// places by the row, as wgmma reads them: the 128-byte swizzle. What lies outside of the matrix is
// zero in them. The map holds the address, not the numbers: it stays right while the matrix stays.
// Errors: invalid_argument where data or rows are not multiples of 16 bytes apart, another element
// type, or an extent below 0; not_supported (the device is no CUDA GPU); driver_unavailable (it is
// too old); driver_error.
Result<cuda::TensorMap> map_boxes(Device& device, const MatrixOfBoxes& matrix);

}  // namespace diecast
