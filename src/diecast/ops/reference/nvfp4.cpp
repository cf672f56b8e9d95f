// Which profile's block a matrix is made of, and the transform before it; see nvfp4.h.
#include <diecast/base/text.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cfloat>
#include <cmath>
#include <cstring>

namespace diecast::reference {

Block te_block(const Sixteen& x, float block_amax, float encode_scale, float decode_scale) {
  Block out;
  out.scale = te_block_scale(block_amax, encode_scale);
  const float step = decode_e4m3(out.scale) * decode_scale;
  const float factor = std::fmin(1.0f / step, FLT_MAX);
  for (std::size_t i = 0; i < 16; ++i) {
    out.scaled[i] = x[i] * factor;
    out.codes[i] = te_code(x[i], factor);
  }
  return out;
}

namespace {

// Sum of the elements whose index agrees with `at` above the lowest `levels` bits, each with the
// sign of its place in the Hadamard matrix: the butterflies, from the last one down.
float transformed(const Sixteen& x, unsigned sign_mask, unsigned at, int levels) {
  if (levels == 0) return (sign_mask >> at & 1u) != 0 ? -x[at] : x[at];
  const unsigned bit = 1u << (levels - 1);
  const float without = transformed(x, sign_mask, at & ~bit, levels - 1);
  const float with = transformed(x, sign_mask, at | bit, levels - 1);
  return (at & bit) == 0 ? without + with : without - with;
}

float canonical_nan() {
  const std::uint32_t bits = 0x7FFFFFFF;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float larger(float amax, float x, bool ignore_nan) {
  if (std::isnan(x)) return ignore_nan ? amax : canonical_nan();
  return std::fabs(x) > amax ? std::fabs(x) : amax;  // false when amax is NaN
}

// x as the profile sees it: blocks of 16, zeros behind a row's end, transformed where asked.
class Blocks {
 public:
  Blocks(const Tensor& x, const Nvfp4Options& options) : x_(x), options_(options) {}
  std::int64_t a_row() const { return ceil_div(x_.cols(), 16); }

  Sixteen at(std::int64_t row, std::int64_t block) const {
    Sixteen out{};
    for (std::int64_t i = 0; i < 16 && block * 16 + i < x_.cols(); ++i) {
      out[static_cast<std::size_t>(i)] =
          load(x_.data, x_.dtype, row * x_.stride() + block * 16 + i);
    }
    if (!options_.rht) return out;
    out = hadamard(out, options_.sign_mask);
    std::uint32_t room = 0;
    for (float& value : out) {
      store(&room, x_.dtype, 0, value);
      value = load(&room, x_.dtype, 0);
    }
    return out;
  }

  float amax(const Sixteen& values) const {
    float amax = 0.0f;
    for (float value : values) amax = larger(amax, value, ignores_nan(options_.profile));
    return amax;
  }

 private:
  const Tensor& x_;
  const Nvfp4Options& options_;
};

float limited(float scale, bool keep_nan) {
  if (std::isnan(scale)) return keep_nan ? scale : FLT_MAX;
  if (scale > FLT_MAX) scale = FLT_MAX;
  return scale == 0.0f ? 1.0f : scale;
}

// S and D of profiles te, pr546 and te_ref.
struct EncodeDecode {
  float encode, decode;
};

EncodeDecode scales_of(const Nvfp4Options& options, float given) {
  const bool te = options.profile == Profile::te;
  if (options.global == GlobalScale::none) return {1.0f, 1.0f};
  if (options.global == GlobalScale::decode) return {limited(1.0f / given, !te), given};
  const float encode = options.global == GlobalScale::encode ? limited(given, !te)
                       : te                                  ? te_encode_scale(given)
                       : options.profile == Profile::te_ref  ? te_ref_encode_scale(given)
                                                             : pr546_encode_scale(given);
  return {encode, 1.0f / encode};
}

Result<void> check_count(std::string_view what, std::size_t have, std::int64_t need) {
  if (static_cast<std::int64_t>(have) == need) return {};
  return Error{ErrorCode::shape_mismatch, cat(what, " has ", have, " entries, not ", need),
               cat("pass ", need, " entries of ", what)};
}

}  // namespace

Block quantize_block(const Sixteen& x, float block_amax, float given, const Nvfp4Options& options) {
  const bool is_amax = options.global == GlobalScale::amax;
  if (options.four_over_six != FourOverSix::off) {
    const bool squares = options.four_over_six == FourOverSix::mse;
    return four_over_six(x, block_amax, given, options.bound, squares).chosen();
  }
  if (options.profile == Profile::modelopt) {
    if (!options.block_amax.empty())
      return modelopt_static_block(x, block_amax, given, options.bound);
    return modelopt_block(x, block_amax, is_amax ? modelopt_scale_2(given, options.bound) : given);
  }
  if (options.profile == Profile::torchao) {
    if (options.global == GlobalScale::none) return torchao_block(x, block_amax, 1.0f);
    return torchao_block(x, block_amax, is_amax ? torchao_per_tensor_scale(given) : given);
  }
  if (options.profile == Profile::te_fast) {
    return te_fast_block(x, block_amax, te_encode_scale(given));
  }
  if (options.profile >= Profile::flashinfer_dsl_exact) {
    return flashinfer_dsl_block(x, block_amax, given, options.near);
  }
  if (options.profile >= Profile::flashinfer_exact) {
    return is_amax ? flashinfer_token_block(x, block_amax, given, options.near)
                   : flashinfer_block(x, block_amax, given, options.near);
  }
  const EncodeDecode scales = scales_of(options, given);
  if (options.profile == Profile::pr546) {
    return pr546_block(x, block_amax, scales.encode, scales.decode);
  }
  if (options.profile == Profile::te_ref) {
    return te_ref_block(x, block_amax, scales.encode, scales.decode);
  }
  return te_block(x, block_amax, scales.encode, scales.decode);
}

void round_stochastically(Block& block, const Nvfp4Options& options, std::int64_t index,
                          bool of_columns) {
  if (!options.random) return;
  const std::uint64_t sequence = static_cast<std::uint64_t>(index) * 2 + (of_columns ? 1 : 0);
  const RandomBlock words = philox4x32(options.random->seed, sequence, options.random->offset);
  for (std::size_t i = 0; i < 16; ++i) {
    const unsigned byte = words[i / 4] / (1u << (i % 4 * 8)) % 256;
    block.codes[i] = stochastic_e2m1(block.scaled[i], byte);
  }
}

Sixteen hadamard(const Sixteen& x, unsigned sign_mask) {
  Sixteen out;
  for (unsigned j = 0; j < 16; ++j) out[j] = transformed(x, sign_mask, j, 4) * 0.25f;
  return out;
}

Result<std::vector<float>> amax(const Tensor& x, const Nvfp4Options& options) {
  DIECAST_CHECK(amax(x, false));  // for its checks of x
  const Blocks blocks(x, options);
  std::vector<float> out(options.row_scaled ? static_cast<std::size_t>(x.rows()) : 1, 0.0f);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    float& largest = out[options.row_scaled ? static_cast<std::size_t>(row) : 0];
    for (std::int64_t block = 0; block < blocks.a_row(); ++block) {
      const float here = blocks.amax(blocks.at(row, block));
      largest = larger(largest, here, ignores_nan(options.profile));
    }
  }
  return out;
}

Result<Nvfp4> quantize_nvfp4(const Tensor& x, const Nvfp4Options& options,
                             std::vector<float> given) {
  DIECAST_CHECK(amax(x, false));  // for its checks of x
  const Blocks blocks(x, options);
  const std::int64_t a_row = blocks.a_row(), count = x.rows() * a_row;
  const bool none = options.global == GlobalScale::none;
  DIECAST_CHECK(check_count("given", given.size(), none ? 0 : options.row_scaled ? x.rows() : 1));
  if (!options.block_amax.empty()) {
    DIECAST_CHECK(check_count("block_amax", options.block_amax.size(), count));
  }
  Nvfp4 out{x.rows(), x.cols(), {}, {}, options.row_scaled, std::move(given)};
  for (std::int64_t place = 0; place < count; ++place) {
    const std::int64_t row = place / a_row;
    const Sixteen values = blocks.at(row, place % a_row);
    const float of_row =
        none ? 1.0f : out.amax[options.row_scaled ? static_cast<std::size_t>(row) : 0];
    const float block_amax = options.block_amax.empty()
                                 ? blocks.amax(values)
                                 : options.block_amax[static_cast<std::size_t>(place)];
    Block block = quantize_block(values, block_amax, of_row, options);
    round_stochastically(block, options, place, false);
    out.scales.push_back(block.scale);
    for (std::size_t i = 0; i < 16; i += 2) {
      out.codes.push_back(static_cast<std::uint8_t>(block.codes[i] + block.codes[i + 1] * 16));
    }
  }
  return out;
}

}  // namespace diecast::reference
