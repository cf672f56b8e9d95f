// The MX formats by the meaning of their words: powers of two from ilogb and ldexp, the E8M0 and
// FP8 roundings from the tables of numbers.h.
#include <diecast/base/text.h>
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace diecast::reference {
namespace {

struct ElementFormat {
  float largest;
  int largest_exponent;  // of two, at or below `largest`
  int mantissa_bits;
};

ElementFormat elements_of(Format format) {
  if (format == Format::mxfp8_e4m3) return {448.0f, 8, 3};
  if (format == Format::mxfp8_e5m2) return {57344.0f, 15, 2};
  return {6.0f, 2, 1};
}

// The exponent of the power of two that the mode makes of a positive number.
int exponent_of(MxMode mode, double amax, int mantissa_bits) {
  const int below = std::ilogb(amax);
  const double significand = std::ldexp(amax, -below);  // 1 up to 2
  if (mode == MxMode::ceil) return significand > 1.0 ? below + 1 : below;
  // Half of an element's last place, or more, above the largest significand goes on to 2.
  const double to_two = 2.0 - std::ldexp(0.5, -mantissa_bits);
  return mode == MxMode::even && significand >= to_two ? below + 1 : below;
}

float as_bf16(float value) { return decode_bf16(encode_bf16(value)); }

// Each step is rounded to bf16; log2 of zero is minus infinity.
std::uint8_t modelopt_scale(float amax) {
  const float sixth = 1.0f / 6.0f;
  const float over_largest = as_bf16(amax * sixth);
  const float logarithm = as_bf16(std::log2(over_largest));
  return static_cast<std::uint8_t>(std::ceil(std::max(logarithm, -127.0f)) + 127.0f);
}

// How many midpoints of the grid are below; the sign is that of numbers above zero alone.
std::uint8_t modelopt_code(float scaled) {
  if (std::isnan(scaled)) return 7;
  const float y = as_bf16(scaled);
  const float midpoints[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  const auto below = std::count_if(std::begin(midpoints), std::end(midpoints),
                                   [&](float midpoint) { return std::fabs(y) > midpoint; });
  return static_cast<std::uint8_t>(below + (y > 0.0f ? 0 : 8));
}

}  // namespace

std::uint8_t mx_scale(const MxFormula& formula, float amax) {
  if (formula.nan_scale && !std::isfinite(amax)) return 255;
  if (formula.modelopt) return modelopt_scale(amax);
  const ElementFormat elements = elements_of(formula.format);
  if (formula.mode == MxMode::rceil) {
    const float over_largest = 1.0f / elements.largest;
    const float quotient = amax * over_largest;
    return encode_e8m0(quotient);
  }
  if (amax == 0.0f) return 0;
  const int exponent = exponent_of(formula.mode, amax, elements.mantissa_bits);
  if (formula.mode == MxMode::even && exponent == 128)
    return 255;  // rounded beyond the largest float
  return static_cast<std::uint8_t>(std::max(exponent - elements.largest_exponent + 127, 0));
}

std::uint8_t mx_code(const MxFormula& formula, float x, std::uint8_t scale) {
  const float factor = scale == 255 ? std::numeric_limits<float>::quiet_NaN()
                                    : static_cast<float>(std::ldexp(1.0, 127 - scale));
  const float scaled = x * factor;
  if (formula.modelopt) return modelopt_code(scaled);
  if (formula.format == Format::mxfp8_e4m3) return encode_e4m3(scaled);
  if (formula.format == Format::mxfp8_e5m2) return encode_e5m2(scaled);
  return encode_e2m1(scaled);
}

float mx_value(Format format, std::uint8_t code, std::uint8_t scale) {
  const float step = decode_e8m0(scale);
  if (format == Format::mxfp8_e4m3) return decode_e4m3(code) * step;
  if (format == Format::mxfp8_e5m2) return decode_e5m2(code) * step;
  return decode_e2m1(code) * step;
}

namespace {

// x, or its transpose, as a function of row and column.
struct View {
  const Tensor& x;
  bool transposed;
  std::int64_t rows() const { return transposed ? x.cols() : x.rows(); }
  std::int64_t cols() const { return transposed ? x.rows() : x.cols(); }
  float at(std::int64_t row, std::int64_t col) const {
    const std::int64_t i = transposed ? col * x.stride() + row : row * x.stride() + col;
    return load(x.data, x.dtype, i);
  }
};

// The largest magnitude of rows from `row` and columns from `col` on, one block of them.
float block_amax(const View& x, std::int64_t row, std::int64_t rows, std::int64_t col,
                 bool keep_nan) {
  float amax = 0.0f;
  for (std::int64_t r = row; r < std::min(row + rows, x.rows()); ++r) {
    for (std::int64_t c = col; c < std::min(col + 32, x.cols()); ++c) {
      const float value = std::fabs(x.at(r, c));
      if (value > amax) amax = value;
      if (keep_nan && std::isnan(value)) return value;
    }
  }
  return amax;
}

// Element (row, col) where the format and direction have it.
void put(MxSide& side, const View& x, Format format, std::int64_t row, std::int64_t col,
         std::uint8_t code) {
  if (format == Format::mxfp4) {
    const std::int64_t byte = row * ceil_div(x.cols(), 32) * 16 + col / 2;
    side.data[static_cast<std::size_t>(byte)] |=
        static_cast<std::uint8_t>(col % 2 == 0 ? code : code * 16);
    return;
  }
  const std::int64_t place = x.transposed ? col * x.rows() + row : row * x.cols() + col;
  side.data[static_cast<std::size_t>(place)] = code;
}

}  // namespace

Result<MxSide> quantize_mx(const Tensor& tensor, const MxFormula& formula, bool columnwise,
                           bool square_blocks) {
  if (tensor.dtype != DType::f32 && tensor.dtype != DType::bf16 && tensor.dtype != DType::f16) {
    return Error{ErrorCode::dtype_mismatch, cat("x is ", dtype_name(tensor.dtype)),
                 "x is f32, bf16 or f16"};
  }
  DIECAST_CHECK(tensor.check("x"));
  const View x{tensor, columnwise};
  const std::int64_t blocks = ceil_div(x.cols(), 32), height = square_blocks ? 32 : 1;
  const std::int64_t row_bytes = formula.format == Format::mxfp4 ? blocks * 16 : x.cols();
  MxSide side;
  side.data.resize(static_cast<std::size_t>(x.rows() * row_bytes));
  side.scales.resize(static_cast<std::size_t>(x.rows() * blocks));
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const float amax =
          block_amax(x, row / height * height, height, block * 32, formula.nan_scale);
      const std::uint8_t scale = mx_scale(formula, amax);
      side.scales[static_cast<std::size_t>(row * blocks + block)] = scale;
      const std::int64_t end = block * 32 + 32;
      const bool padded = formula.format == Format::mxfp4;  // FP8 has no place for the padding
      for (std::int64_t col = block * 32; col < (padded ? end : std::min(end, x.cols())); ++col) {
        const float value = col < x.cols() ? x.at(row, col) : 0.0f;
        put(side, x, formula.format, row, col, mx_code(formula, value, scale));
      }
    }
  }
  return side;
}

float mx_element(const MxSide& side, Format format, bool columnwise, std::int64_t rows,
                 std::int64_t cols, std::int64_t row, std::int64_t col) {
  // A line holds blocks: a row, or a column.
  const std::int64_t line = columnwise ? col : row, place = columnwise ? row : col;
  const std::int64_t blocks = ceil_div(columnwise ? rows : cols, 32);
  const std::uint8_t scale = side.scales[static_cast<std::size_t>(line * blocks + place / 32)];
  if (format != Format::mxfp4) {
    return mx_value(format, side.data[static_cast<std::size_t>(row * cols + col)], scale);
  }
  const unsigned pair = side.data[static_cast<std::size_t>(line * blocks * 16 + place / 2)];
  return mx_value(format, static_cast<std::uint8_t>(place % 2 == 0 ? pair % 16 : pair / 16), scale);
}

}  // namespace diecast::reference
