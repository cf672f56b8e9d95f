// Sums step by step as linear.cu states their order; what becomes of them.
#include <diecast/ops/reference/linear.h>

#include <algorithm>
#include <cmath>

namespace diecast::reference {
namespace {

constexpr std::int64_t kTile = 64, kStep = 16;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

float limited(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

// The sum of a row under the factor and the bias.
float scaled(const Linear& of, std::int64_t row, std::int64_t weight_row) {
  const float x = linear_sum(of, row, weight_row) * linear_factor(of, weight_row);
  return of.bias.empty() ? x : x + of.bias[static_cast<std::size_t>(weight_row)];
}

}  // namespace

bool is_gated(Activation activation) {
  return activation == Activation::silu_and_mul || activation == Activation::swiglu_oai;
}

float linear_factor(const Linear& of, std::int64_t weight_row) {
  if (!of.row_factors.empty()) return of.row_factors[static_cast<std::size_t>(weight_row)];
  return weight_row < of.cols ? of.factor : of.second_factor.value_or(of.factor);
}

float linear_sum(const Linear& of, std::int64_t row, std::int64_t weight_row) {
  const float* x = of.x.data() + row * of.depth;
  const float* w = of.weights.data() + weight_row * of.depth;
  const std::int64_t tiles = (of.depth + kTile - 1) / kTile;
  const std::int64_t part = (tiles + of.split - 1) / of.split * kTile;
  float total = 0;
  for (int nth = 0; nth < of.split; ++nth) {
    float sum = 0;
    for (std::int64_t k = nth * part; k < std::min((nth + 1) * part, of.depth); k += kStep) {
      float step = 0;
      for (std::int64_t i = k; i < k + kStep; ++i) step += w[i] * x[i];
      sum += step;
    }
    total = nth == 0 ? sum : total + sum;
  }
  return total;
}

float linear_activated(const Linear& of, std::int64_t row, std::int64_t col) {
  const float first = scaled(of, row, col);
  if (of.activation == Activation::relu2) return first < 0 ? 0.0f : first * first;
  if (!is_gated(of.activation)) return first;
  const float second = scaled(of, row, of.cols + col);
  if (of.activation == Activation::silu_and_mul)
    return static_cast<float>(double{first} * sigmoid(double{first})) * second;
  const float gate = limited(first, -INFINITY, of.limit);
  const float up = limited(second, -of.limit, of.limit);
  const float open = static_cast<float>(sigmoid(double{of.alpha * gate}));
  return (up + 1.0f) * (gate * open);
}

float linear_element(const Linear& of, std::int64_t row, std::int64_t col) {
  const float x = linear_activated(of, row, col);
  const auto at = static_cast<std::size_t>(row * of.cols + col);
  return of.residual.empty() ? x : x + of.residual[at];
}

}  // namespace diecast::reference
