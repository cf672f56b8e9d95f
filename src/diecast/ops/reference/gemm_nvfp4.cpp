// See gemm_nvfp4.h. A block's sum of products is made in double, where nothing in it rounds; from
// there on each step is one f32 rounding.
#include <diecast/ops/reference/gemm_nvfp4.h>
#include <diecast/ops/reference/numbers.h>

namespace diecast::reference {
namespace {

// Codes and scales as numbers, row after row.
struct Numbers {
  std::vector<double> elements, scales;
};

Numbers numbers_of(const PackedNvfp4& q) {
  Numbers out;
  for (std::int64_t row = 0; row < q.rows; ++row) {
    for (std::int64_t col = 0; col < q.cols; ++col) {
      const unsigned pair = q.codes[static_cast<std::size_t>(row * q.row_bytes + col / 2)];
      out.elements.push_back(
          decode_e2m1(static_cast<std::uint8_t>(col % 2 == 0 ? pair % 16 : pair / 16)));
    }
  }
  for (const std::uint8_t byte : q.scales) out.scales.push_back(decode_e4m3(byte));
  return out;
}

float sum_of_blocks(const Numbers& a, const Numbers& b, std::int64_t row, std::int64_t col,
                    std::int64_t blocks) {
  float sum = 0.0f;
  const auto left = static_cast<std::size_t>(row * blocks);
  const auto right = static_cast<std::size_t>(col * blocks);
  for (std::size_t block = 0; block < static_cast<std::size_t>(blocks); ++block) {
    double products = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      products += a.elements[(left + block) * 16 + i] * b.elements[(right + block) * 16 + i];
    }
    const double scaled = products * (a.scales[left + block] * b.scales[right + block]);
    const auto term = static_cast<float>(scaled);  // exact
    sum = sum + term;
  }
  return sum;
}

float unit_of(const GemmNvfp4& gemm) {
  const auto bounds = static_cast<float>(36 * gemm.a.bound * gemm.b.bound);
  return 1.0f / bounds;
}

// The sum under both global scales.
float scaled_sum(const GemmNvfp4& gemm, float sum, std::int64_t row, std::int64_t col) {
  const bool of_rows = gemm.a.row_scaled, of_cols = gemm.b.row_scaled;
  const float of_row = gemm.a_amax[of_rows ? static_cast<std::size_t>(row) : 0];
  const float of_col = gemm.b_amax[of_cols ? static_cast<std::size_t>(col) : 0];
  if (!of_rows && !of_cols) return sum * gemm_factor(gemm, of_row, of_col);
  const float alpha = gemm.alpha * unit_of(gemm);
  const float plain = sum * alpha;
  if (gemm.a_amax.size() == 1 || gemm.b_amax.size() == 1) {
    const float both = of_row * of_col;
    return plain * both;
  }
  const float with_row = plain * of_row;
  return with_row * of_col;
}

}  // namespace

float gemm_factor(const GemmNvfp4& gemm, float a_amax, float b_amax) {
  const float with_b = gemm.alpha * b_amax;
  const float with_both = with_b * a_amax;
  return with_both * unit_of(gemm);
}

std::vector<float> gemm_sums(const GemmNvfp4& gemm) {
  const Numbers a = numbers_of(gemm.a), b = numbers_of(gemm.b);
  std::vector<float> sums;
  for (std::int64_t row = 0; row < gemm.a.rows; ++row) {
    for (std::int64_t col = 0; col < gemm.b.rows; ++col) {
      sums.push_back(sum_of_blocks(a, b, row, col, gemm.a.cols / 16));
    }
  }
  return sums;
}

void finish_gemm(const GemmNvfp4& gemm, const std::vector<float>& sums, void* out, DType dtype) {
  for (std::int64_t row = 0; row < gemm.a.rows; ++row) {
    for (std::int64_t col = 0; col < gemm.b.rows; ++col) {
      const std::int64_t at = row * gemm.b.rows + col;
      float value = scaled_sum(gemm, sums[static_cast<std::size_t>(at)], row, col);
      if (!gemm.bias.empty()) value = value + gemm.bias[static_cast<std::size_t>(col)];
      if (gemm.accumulate) {
        const float before = load(out, dtype, at);
        store(out, dtype, at, value);
        value = before + load(out, dtype, at);
      }
      store(out, dtype, at, value);
    }
  }
}

void gemm_nvfp4(const GemmNvfp4& gemm, void* out, DType dtype) {
  finish_gemm(gemm, gemm_sums(gemm), out, dtype);
}

}  // namespace diecast::reference
