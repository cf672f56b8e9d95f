// What experts made of tokens, times the router's weights, added in the order that
// combine_experts.cu states: the truth it is tested against. All memory is host memory.
#pragma once

#include <diecast/ops/tensor.h>

#include <cstdint>

namespace diecast::reference {

// x: bf16, f16 or f32 [M * k, N]; ids and weights: [M, k]; out: bf16, f16 or f32 [M, N]. Dense.
void combine_experts(const Tensor& x, const std::int32_t* ids, const float* weights,
                     std::int64_t experts, const Tensor& out);

}  // namespace diecast::reference
