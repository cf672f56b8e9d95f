// A matrix in host memory for tests of the reference and of kernels: rows of f32, bf16 or f16, with
// or without space between them.
#pragma once

#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/tensor.h>

#include <vector>

namespace diecast {

struct HostMatrix {
  HostMatrix(DType type, std::int64_t row_count, std::int64_t col_count,
             std::int64_t row_stride = 0)
      : dtype(type), rows(row_count), cols(col_count), stride(row_stride ? row_stride : col_count) {
    words.resize(static_cast<std::size_t>(rows * stride + 1));
  }
  HostMatrix(DType type, std::int64_t row_count, const std::vector<float>& values)
      : HostMatrix(type, row_count, static_cast<std::int64_t>(values.size()) / row_count) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      reference::store(words.data(), dtype, static_cast<std::int64_t>(i), values[i]);
    }
  }

  float at(std::int64_t row, std::int64_t col) const {
    return reference::load(words.data(), dtype, row * stride + col);
  }
  void set(std::int64_t row, std::int64_t col, float value) {
    reference::store(words.data(), dtype, row * stride + col, value);
  }
  // Every element by `value(row, col)`.
  template <class Value>
  HostMatrix& fill(Value value) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) set(row, col, value(row, col));
    }
    return *this;
  }
  Tensor view() { return {words.data(), dtype, {rows, cols}, stride == cols ? 0 : stride}; }

  DType dtype;
  std::int64_t rows, cols, stride;
  std::vector<std::uint32_t> words;  // room for any element type
};

}  // namespace diecast
