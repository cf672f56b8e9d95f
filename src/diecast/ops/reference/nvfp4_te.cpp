// Profile `te` in IEEE single precision. No expression here has the form a * b + c, so whether a
// compiler may contract multiplications into additions cannot matter; every `*` and `/` on floats
// is one rounding, and subnormals must not be flushed.
#include <diecast/base/text.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_te.h>

#include <cfloat>
#include <cmath>

namespace diecast::reference {

static_assert(FLT_EVAL_METHOD == 0, "the reference needs float arithmetic in single precision");

namespace {
constexpr float kLargest = 2688.0f;  // 448 * 6: the largest block scale times the largest code
}

float te_encode_scale(float amax) {
  if (amax == 0.0f) return 1.0f;
  const float scale = std::fmin(kLargest / amax, FLT_MAX);  // fmin: a NaN amax gives FLT_MAX
  return scale == 0.0f ? 1.0f : scale;                      // an infinite amax
}

float te_decode_scale(float amax) { return 1.0f / te_encode_scale(amax); }

std::uint8_t te_block_scale(float block_amax, float encode_scale) {
  const float sixth = 1.0f / 6.0f;
  const float scale_over_six = encode_scale * sixth;
  const float scaled = block_amax * scale_over_six;
  return encode_e4m3(std::fmin(scaled, FLT_MAX));
}

float te_encode_factor(std::uint8_t block_scale, float encode_scale) {
  const float decode_scale = 1.0f / encode_scale;
  const float step = decode_e4m3(block_scale) * decode_scale;
  return step == 0.0f ? FLT_MAX : std::fmin(1.0f / step, FLT_MAX);
}

std::uint8_t te_code(float x, float encode_factor) { return encode_e2m1(x * encode_factor); }

namespace {

Result<void> check_matrix(const Tensor& tensor, std::string_view name) {
  if (tensor.dtype != DType::f32 && tensor.dtype != DType::bf16 && tensor.dtype != DType::f16 &&
      tensor.dtype != DType::e4m3) {
    return Error{ErrorCode::dtype_mismatch, cat(name, " is ", dtype_name(tensor.dtype)),
                 cat(name, " is f32, bf16, f16 or e4m3")};
  }
  return tensor.check(name);
}

Error wrong_count(std::string_view what, std::size_t have, std::int64_t need) {
  return {ErrorCode::shape_mismatch, cat(what, " has ", have, " entries, not ", need),
          cat("pass ", need, " entries of ", what)};
}

bool has(std::size_t have, std::int64_t need) { return static_cast<std::int64_t>(have) == need; }

float element(const Tensor& x, std::int64_t row, std::int64_t col) {
  return load(x.data, x.dtype, row * x.stride() + col);
}

// The 16 elements of a block, zeros behind the end of the row.
void read_block(const Tensor& x, std::int64_t row, std::int64_t block, float (&values)[16]) {
  for (int i = 0; i < 16; ++i) {
    const std::int64_t col = block * 16 + i;
    values[i] = col < x.cols() ? element(x, row, col) : 0.0f;
  }
}

float larger_magnitude(float amax, float x) {
  const float magnitude = std::fabs(x);
  return magnitude > amax ? magnitude : amax;  // false for NaN
}

// One block: its scale byte, and its 16 codes in 8 bytes.
std::uint8_t quantize_block(const float (&values)[16], float encode_scale, std::uint8_t* bytes) {
  float block_amax = 0.0f;
  for (float value : values) block_amax = larger_magnitude(block_amax, value);
  const std::uint8_t scale = te_block_scale(block_amax, encode_scale);
  const float factor = te_encode_factor(scale, encode_scale);
  for (int i = 0; i < 8; ++i) {
    const unsigned low = te_code(values[2 * i], factor);
    const unsigned high = te_code(values[2 * i + 1], factor);
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return scale;
}

}  // namespace

Result<std::vector<float>> amax(const Tensor& x, bool per_row) {
  DIECAST_CHECK(check_matrix(x, "x"));
  std::vector<float> out(per_row ? static_cast<std::size_t>(x.rows()) : 1, 0.0f);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    float& largest = out[per_row ? static_cast<std::size_t>(row) : 0];
    for (std::int64_t col = 0; col < x.cols(); ++col) {
      largest = larger_magnitude(largest, element(x, row, col));
    }
  }
  return out;
}

Result<Nvfp4> te_quantize_nvfp4(const Tensor& x, std::vector<float> amax, bool row_scaled) {
  DIECAST_CHECK(check_matrix(x, "x"));
  const std::int64_t need = row_scaled ? x.rows() : 1;
  if (!has(amax.size(), need)) return wrong_count("amax", amax.size(), need);
  const std::int64_t row_blocks = ceil_div(x.cols(), 16);
  Nvfp4 out{x.rows(), x.cols(), {}, {}, row_scaled, std::move(amax)};
  out.codes.resize(static_cast<std::size_t>(x.rows() * row_blocks * 8));
  out.scales.resize(static_cast<std::size_t>(x.rows() * row_blocks));
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    const float of_row = out.amax[row_scaled ? static_cast<std::size_t>(row) : 0];
    const float encode_scale = te_encode_scale(of_row);
    for (std::int64_t block = 0; block < row_blocks; ++block) {
      const auto place = static_cast<std::size_t>(row * row_blocks + block);
      float values[16];
      read_block(x, row, block, values);
      out.scales[place] = quantize_block(values, encode_scale, &out.codes[place * 8]);
    }
  }
  return out;
}

Result<Nvfp4> te_quantize_nvfp4(const Tensor& x, bool row_scaled) {
  DIECAST_TRY(std::vector<float> own, amax(x, row_scaled));
  return te_quantize_nvfp4(x, std::move(own), row_scaled);
}

namespace {

float dequantized(std::uint8_t code, std::uint8_t block_scale, Global form, float global) {
  const float scale = decode_e4m3(block_scale);
  if (form == Global::decode) {
    const float in_units_of_d = decode_e2m1(code) * scale;  // exact
    return in_units_of_d * global;
  }
  const float scaled_amax = scale * global;
  const float step = scaled_amax * (1.0f / kLargest);
  return decode_e2m1(code) * step;
}

Result<void> check_dequantize(const Nvfp4& q, const std::vector<float>& global, const Tensor& out) {
  DIECAST_CHECK(check_matrix(out, "out"));
  if (out.rows() != q.rows || out.cols() != q.cols) {
    return Error{
        ErrorCode::shape_mismatch,
        cat("out is ", out.shape.text(), ", the quantized matrix [", q.rows, ", ", q.cols, "]"),
        "give out the rows and columns of the quantized matrix"};
  }
  const std::int64_t blocks = q.rows * ceil_div(q.cols, 16), need = q.row_scaled ? q.rows : 1;
  if (!has(q.codes.size(), blocks * 8)) return wrong_count("codes", q.codes.size(), blocks * 8);
  if (!has(q.scales.size(), blocks)) return wrong_count("scales", q.scales.size(), blocks);
  if (!has(global.size(), need)) return wrong_count("global", global.size(), need);
  return {};
}

}  // namespace

Result<void> te_dequantize_nvfp4(const Nvfp4& q, Global form, const std::vector<float>& global,
                                 const Tensor& out) {
  DIECAST_CHECK(check_dequantize(q, global, out));
  const std::int64_t row_blocks = ceil_div(q.cols, 16);
  for (std::int64_t row = 0; row < q.rows; ++row) {
    const float of_row = global[q.row_scaled ? static_cast<std::size_t>(row) : 0];
    for (std::int64_t col = 0; col < q.cols; ++col) {
      const std::int64_t block = row * row_blocks + col / 16;
      const unsigned pair = q.codes[static_cast<std::size_t>(block * 8 + col % 16 / 2)];
      const auto code = static_cast<std::uint8_t>(col % 2 == 0 ? pair % 16 : pair / 16);
      const std::uint8_t scale = q.scales[static_cast<std::size_t>(block)];
      store(out.data, out.dtype, row * out.stride() + col, dequantized(code, scale, form, of_row));
    }
  }
  return {};
}

}  // namespace diecast::reference
