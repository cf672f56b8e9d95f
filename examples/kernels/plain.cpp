// The plain loops, and the sizes that each kernel is tried at; see plain.h.
#include "plain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace diecast;

static double softmax(const Tensors& of, const Specialization&, std::int64_t row,
                      std::int64_t col) {
  const Matrix& x = of.at("x");
  double sum = 0;
  for (std::int64_t i = 0; i < x.cols(); ++i) sum += std::exp(x.at(row, i) - x.at(row, col));
  return 1 / sum;
}

static double rms_norm(const Tensors& of, const Specialization& variant, std::int64_t row,
                       std::int64_t col) {
  const Matrix& x = of.at("x");
  const bool adds = variant.number("HAS_RESIDUAL") != 0;
  const auto value = [&](std::int64_t i) {
    return adds ? x.rounded(x.at(row, i) + of.at("residual").at(row, i)) : x.at(row, i);
  };
  double squares = 0;
  for (std::int64_t i = 0; i < x.cols(); ++i) squares += value(i) * value(i);
  const double root = std::sqrt(squares / static_cast<double>(x.cols()) + 1e-5);
  return value(col) / root * (variant.number("HAS_WEIGHT") != 0 ? of.at("weight").at(0, col) : 1);
}

static double silu_and_mul(const Tensors& of, const Specialization& variant, std::int64_t row,
                           std::int64_t col) {
  const Matrix& x = of.at("x");
  double gate = x.at(row, col), up = x.at(row, x.cols() / 2 + col);
  if (variant.bindings().find("LIMIT")->spelling() == "7") {
    gate = std::min(gate, 7.0);
    up = std::clamp(up, -7.0, 7.0);
  }
  return gate / (1 + std::exp(-gate)) * up;
}

static double scan(const Tensors& of, const Specialization&, std::int64_t row, std::int64_t col) {
  double sum = 0;
  for (std::int64_t i = 0; i <= col; ++i) sum += of.at("x").at(row, i);
  return sum;
}

static double gemv(const Tensors& of, const Specialization& variant, std::int64_t,
                   std::int64_t row) {
  const Matrix& w = of.at("w");
  double sum = variant.number("HAS_BIAS") != 0 ? of.at("bias").at(0, row) : 0;
  for (std::int64_t i = 0; i < w.cols(); ++i) sum += w.at(row, i) * of.at("x").at(0, i);
  return sum;
}

static double histogram(const Tensors& of, const Specialization&, std::int64_t, std::int64_t bin) {
  const Matrix& x = of.at("x");
  double count = 0;
  for (std::int64_t i = 0; i < x.cols(); ++i)
    count += static_cast<std::int64_t>(std::clamp((x.at(0, i) + 4) * 32, 0.0, 255.0)) == bin;
  return count;
}

static constexpr Heads kHeads{3, 20};

static double rotary_embedding(const Tensors& of, const Specialization& variant, std::int64_t row,
                               std::int64_t col) {
  const Matrix& x = of.at("x");
  const std::int64_t pairs = of.at("frequencies").cols(), head = col / kHeads.size;
  const std::int64_t at = col % kHeads.size;
  if (head >= kHeads.count || at >= 2 * pairs) return x.at(row, col);
  const bool halves = variant.bindings().find("PAIRS")->spelling() == "halves";
  const bool first = halves ? at < pairs : at % 2 == 0;
  const std::int64_t pair = halves ? at % pairs : at / 2, apart = halves ? pairs : 1;
  const float angle = static_cast<float>(of.at("positions").at(0, row)) *
                      static_cast<float>(of.at("frequencies").at(0, pair));
  const double sine = std::sin(static_cast<double>(angle));
  const double other = x.at(row, first ? col + apart : col - apart);
  return x.at(row, col) * std::cos(static_cast<double>(angle)) + other * (first ? -sine : sine);
}

// The experts of a token by their logits, the largest first and of equals the first.
static std::vector<std::int64_t> ranked(const Matrix& logits, std::int64_t token) {
  std::vector<std::int64_t> experts(static_cast<std::size_t>(logits.cols()));
  std::iota(experts.begin(), experts.end(), 0);
  std::stable_sort(experts.begin(), experts.end(), [&](std::int64_t a, std::int64_t b) {
    return logits.at(token, a) > logits.at(token, b);
  });
  return experts;
}

static double chosen_expert(const Tensors& of, const Specialization&, std::int64_t token,
                            std::int64_t nth) {
  return static_cast<double>(ranked(of.at("logits"), token)[static_cast<std::size_t>(nth)]);
}

static double weight_of_expert(const Tensors& of, const Specialization& variant, std::int64_t token,
                               std::int64_t nth) {
  const Matrix& logits = of.at("logits");
  const auto experts = ranked(logits, token);
  const bool all = variant.number("RENORMALIZE") == 0;
  const auto counted = static_cast<std::size_t>(all ? logits.cols() : variant.number("K"));
  const double own = logits.at(token, experts[static_cast<std::size_t>(nth)]);
  double sum = 0;
  for (std::size_t i = 0; i < counted; ++i) sum += std::exp(logits.at(token, experts[i]) - own);
  return 1 / sum;
}

static const std::vector<Sizes> kRotations = {{{"tokens", 0}, {"cols", 64}, {"pairs", 1}},
                                              {{"tokens", 1}, {"cols", 60}, {"pairs", 10}},
                                              {{"tokens", 5}, {"cols", 300}, {"pairs", 7}}};
static const std::vector<Sizes> kTokens = {{{"tokens", 0}}, {{"tokens", 1}}, {{"tokens", 7}}};
static const std::vector<Sizes> kMatrices = {
    {{"rows", 0}, {"cols", 1}},    {{"rows", 1}, {"cols", 1}},    {{"rows", 2}, {"cols", 100}},
    {{"rows", 7}, {"cols", 300}},  {{"rows", 1}, {"cols", 1000}}, {{"rows", 2}, {"cols", 8201}},
    {{"rows", 1}, {"cols", 16400}}};
const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"softmax", "y", softmax, kMatrices, 8},
      {"rms_norm", "y", rms_norm, kMatrices, 8},
      {"silu_and_mul", "y", silu_and_mul, kMatrices, 4},
      {"scan", "y", scan, kMatrices, 8, 64},
      {"gemv",
       "y",
       gemv,
       {{{"n", 0}, {"k", 1}},
        {{"n", 1}, {"k", 7}},
        {{"n", 9}, {"k", 500}},
        {{"n", 1}, {"k", 10000}}},
       8,
       64},
      {"histogram", "counts", histogram, {{{"n", 0}}, {{"n", 1}}, {{"n", 10000}}}, 0},
      {"rotary_embedding", "x", rotary_embedding, kRotations, 4, 4, kHeads},
      {"top_k_gate", "experts", chosen_expert, kTokens, 0},
      {"top_k_gate", "weights", weight_of_expert, kTokens, 8}};
  return all;
}
