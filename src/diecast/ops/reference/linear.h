// A linear layer with quantized weights, element by element in the order that linear.cu states: the
// truth it is tested against. All memory is host memory.
#pragma once

#include <diecast/template/value.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace diecast::reference {

enum class Activation { none, silu_and_mul, swiglu_oai, relu2 };
// Whether it multiplies two columns: then weights and bias have the gates' rows, then the others'.
bool is_gated(Activation activation);

struct Linear {
  std::int64_t rows = 0, cols = 0, depth = 0;  // cols: of out
  int split = 1;                               // parts of the depth, of whole tiles of 64
  std::vector<float> x;                        // [rows, depth]
  std::vector<float> weights;          // [cols or 2 * cols, depth]: codes times block scales
  float factor = 1.0f;                 // the global scale
  std::optional<float> second_factor;  // that of what a gate multiplies, where it is another one
  std::vector<float> row_factors;      // one a row of the weights, not gated; empty: none
  std::vector<float> bias;             // one a row of the weights; empty: none
  Activation activation = Activation::none;
  float alpha = 1.702f, limit = 7.0f;  // of swiglu_oai
  std::vector<float> residual;         // [rows, cols]; empty: none
};

// What the sums of a row of the weights are multiplied by.
float linear_factor(const Linear& of, std::int64_t weight_row);
// The sum of a row of x and a row of the weights, before anything is made of it.
float linear_sum(const Linear& of, std::int64_t row, std::int64_t weight_row);
// What the activation makes of them. Sigmoids are those of the C library, in f64, so gated
// activations are within a few units in the last place of the kernels'.
float linear_activated(const Linear& of, std::int64_t row, std::int64_t col);
// Element (row, col), with its residual, before it is rounded to its type.
float linear_element(const Linear& of, std::int64_t row, std::int64_t col);

}  // namespace diecast::reference
