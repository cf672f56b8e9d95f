// The product of two NVFP4 matrices, element by element in the order that gemm_nvfp4 states: the
// truth it is tested against to the bit. All memory is host memory.
#pragma once

#include <diecast/ops/reference/dequantize_nvfp4.h>
#include <diecast/template/value.h>

#include <vector>

namespace diecast::reference {

// a [M, K] times the transpose of b [N, K], K whole blocks of 16; an amax with one entry or, where
// its operand is row-scaled, one a row.
struct GemmNvfp4 {
  PackedNvfp4 a, b;
  std::vector<float> a_amax, b_amax;
  float alpha = 1.0f;
  std::vector<float> bias;  // [N], exact values of its type; empty: none
  bool accumulate = false;
};

// The sums alone, [M, N], before anything is made of them.
std::vector<float> gemm_sums(const GemmNvfp4& gemm);
// What of the two global scales, alpha and both bounds a sum is multiplied by where neither operand
// is row-scaled, of one amax each.
float gemm_factor(const GemmNvfp4& gemm, float a_amax, float b_amax);
// Makes of sums what gemm_nvfp4 does; codes and block scales are not looked at.
void finish_gemm(const GemmNvfp4& gemm, const std::vector<float>& sums, void* out, DType dtype);

// Writes or, with accumulate, adds to out, a dense [M, N] array of bf16, f16 or f32.
void gemm_nvfp4(const GemmNvfp4& gemm, void* out, DType dtype);

}  // namespace diecast::reference
