// The operands of a product as its layout letters have them read.
#pragma once

#include <diecast/base/error.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/gemm/gemm_nvfp4.h>

namespace diecast {

// An operand as the product reads it: [rows, depth].
struct GemmOperand {
  std::string_view name;
  const QuantizedTensor& tensor;
  bool columnwise;

  const QuantizedSide& side() const { return tensor.side(columnwise); }
  std::int64_t rows() const { return columnwise ? tensor.cols() : tensor.rows(); }
  std::int64_t depth() const { return columnwise ? tensor.rows() : tensor.cols(); }
};

GemmOperand operand_a(const QuantizedTensor& a, std::string_view layout);
GemmOperand operand_b(const QuantizedTensor& b, std::string_view layout);

// Whether K is whole pairs of blocks and codes begin at multiples of 16 bytes; of groups, of each
// member, where the host can tell.
bool is_aligned(const QuantizedTensor& a, const QuantizedTensor& b, std::string_view layout);
bool is_aligned(const QuantizedGroup& a, const QuantizedGroup& b, std::string_view layout);

// The operand's scales, as kernels of products take them.
args::TensorOf<DType::e4m3> scales_argument(const GemmOperand& x);

// The numbers of the bias, or null.
inline const void* bias_data(const GemmNvfp4Options& options) {
  return options.bias ? options.bias->data : nullptr;
}

// What is left of both global scales when the amaxes are taken out.
float gemm_unit(const QuantizedTensor& a, const QuantizedTensor& b);

}  // namespace diecast
