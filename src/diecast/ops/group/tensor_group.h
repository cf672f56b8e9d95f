// Many quantized matrices in one launch that lie anywhere, such as weights allocated one by one: a
// group without common buffers. Views, no memory of their own.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace diecast {

// A matrix and what becomes of it.
struct QuantizedPair {
  Tensor x;
  QuantizedTensor out;  // of x's shape
};

// Pairs with equal columns, all x of one type and all outputs alike but for their rows, places and
// scale strides. Where an amax is of a whole matrix, pairs that have one pointer for it share it:
// gate and up, or q, k and v. Pairs without rows may lack buffers.
struct TensorGroup {
  std::span<const QuantizedPair> pairs;       // in host memory
  const MemberDescriptor* members = nullptr;  // device memory: what describe() makes of the pairs

  std::int64_t count() const { return static_cast<std::int64_t>(pairs.size()); }
  std::int64_t rows() const;  // of all pairs, at most 2^63 - 1
  std::int64_t cols() const { return pairs.empty() ? 0 : pairs[0].x.cols(); }
  // The first pair that has elements, or the first of all: its output is what all are like. Null
  // without pairs.
  const QuantizedPair* first() const;

  // What an op relies on. Errors: those of Tensor::check and QuantizedTensor::check for each pair,
  // dtype_mismatch, shape_mismatch (x and its output, columns, rows beyond 63 bits), not_supported
  // (outputs that are not alike, a row count in device memory), missing_buffer (descriptors).
  Result<void> check(std::string_view op) const;
  // The descriptors, to be copied to `members`; `out` has room for count(). They hold addresses:
  // make them anew when a tensor moves. Errors: those of check(), descriptors aside.
  Result<void> describe(MemberDescriptor* out) const;

 private:
  Result<void> check_pairs(std::string_view op) const;
};

}  // namespace diecast
