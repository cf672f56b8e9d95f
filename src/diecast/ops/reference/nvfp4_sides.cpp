// See nvfp4_sides.h.
#include <diecast/ops/reference/nvfp4_sides.h>

#include <algorithm>
#include <cmath>

namespace diecast::reference {
namespace {

using Square = std::array<Sixteen, 16>;  // of 16 lines

// Lines `line` and the 15 behind it, elements 16 * block up to 16 * block + 15; zeros beyond.
Square square_at(const Values& x, std::int64_t line, std::int64_t block) {
  Square out{};
  for (std::int64_t i = 0; i < 16 && line + i < x.rows; ++i) {
    for (std::int64_t j = 0; j < 16 && block * 16 + j < x.cols; ++j) {
      out[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
          x.at(line + i, block * 16 + j);
    }
  }
  return out;
}

float amax_of(const Square& lines, std::size_t count, Profile profile) {
  float amax = 0.0f;
  for (std::size_t i = 0; i < count; ++i) {
    for (float x : lines[i]) {
      if (std::isnan(x) && !ignores_nan(profile)) return x;
      if (std::fabs(x) > amax) amax = std::fabs(x);
    }
  }
  return amax;
}

// r and r + 8, then r and r + 4, + 2, + 1.
float tree_sum(const std::array<float, 16>& errors, std::size_t at, std::size_t distance) {
  if (distance == 16) return errors[at];
  return tree_sum(errors, at, distance * 2) + tree_sum(errors, at + distance, distance * 2);
}

bool four_is_nearer(const Square& lines, float amax, float given, const Nvfp4Options& options) {
  std::array<float, 16> four{}, six{};
  for (std::size_t i = 0; i < 16; ++i) {
    const Candidates both = four_over_six(lines[i], amax, given, options.bound,
                                          options.four_over_six == FourOverSix::mse);
    four[i] = both.error_four;
    six[i] = both.error_six;
  }
  return tree_sum(four, 0, 1) < tree_sum(six, 0, 1);
}

std::array<Block, 16> quantize_square(const Square& lines, float amax, float given,
                                      const Nvfp4Options& options) {
  const bool adaptive = options.four_over_six != FourOverSix::off;
  const bool four = adaptive && four_is_nearer(lines, amax, given, options);
  std::array<Block, 16> out;
  for (std::size_t i = 0; i < 16; ++i) {
    if (!adaptive) {
      out[i] = quantize_block(lines[i], amax, given, options);
      continue;
    }
    const Candidates both = four_over_six(lines[i], amax, given, options.bound, false);
    out[i] = four ? both.four : both.six;
  }
  return out;
}

// Output block `place`.
void put(CodesAndScales& out, std::int64_t place, Block block, const TilesOptions& options,
         bool of_columns) {
  round_stochastically(block, options.nvfp4, place, of_columns);
  std::copy(block.scaled.begin(), block.scaled.end(), out.scaled.begin() + place * 16);
  out.scales[static_cast<std::size_t>(place)] = block.scale;
  for (std::size_t i = 0; i < 8; ++i) {
    out.codes[static_cast<std::size_t>(place) * 8 + i] =
        static_cast<std::uint8_t>(block.codes[2 * i] + block.codes[2 * i + 1] * 16);
  }
}

CodesAndScales quantize(const Values& x, const TilesOptions& options,
                        const std::vector<float>& given, bool of_columns) {
  const std::int64_t blocks = (x.cols + 15) / 16, high = options.square ? 16 : 1;
  CodesAndScales out{Bytes(static_cast<std::size_t>(x.rows * blocks * 8)),
                     Bytes(static_cast<std::size_t>(x.rows * blocks)),
                     std::vector<float>(static_cast<std::size_t>(x.rows * blocks * 16))};
  for (std::int64_t line = 0; line < x.rows; line += high) {
    const auto of_line = static_cast<std::size_t>(options.nvfp4.row_scaled ? line : 0);
    const float global = options.nvfp4.global == GlobalScale::none ? 1.0f : given[of_line];
    for (std::int64_t block = 0; block < blocks; ++block) {
      const Square lines = square_at(x, line, block);
      const auto& of_blocks = options.nvfp4.block_amax;
      const float amax = of_blocks.empty()
                             ? amax_of(lines, static_cast<std::size_t>(high), options.nvfp4.profile)
                             : of_blocks[static_cast<std::size_t>(line / high * blocks + block)];
      if (!options.square) {
        const Block one = quantize_block(lines[0], amax, global, options.nvfp4);
        put(out, line * blocks + block, one, options, of_columns);
        continue;
      }
      const auto quantized = quantize_square(lines, amax, global, options.nvfp4);
      for (std::int64_t i = 0; i < 16 && line + i < x.rows; ++i) {
        put(out, (line + i) * blocks + block, quantized[static_cast<std::size_t>(i)], options,
            of_columns);
      }
    }
  }
  return out;
}

// The transpose's codes by random numbers of their own: what is rounded is the rows', `scaled`.
void round_columns(CodesAndScales& out, const std::vector<float>& scaled, const Tensor& x,
                   const TilesOptions& options) {
  const std::int64_t pitch = (x.cols() + 15) / 16 * 16, blocks = (x.rows() + 15) / 16;
  out.scaled.resize(static_cast<std::size_t>(x.cols() * blocks * 16));
  for (std::int64_t place = 0; place < x.cols() * blocks; ++place) {
    Block block;
    block.scale = out.scales[static_cast<std::size_t>(place)];
    for (std::int64_t i = 0; i < 16; ++i) {
      const std::int64_t row = place % blocks * 16 + i, col = place / blocks;
      const auto at = static_cast<std::size_t>(row * pitch + col);
      if (row < x.rows()) block.scaled[static_cast<std::size_t>(i)] = scaled[at];
    }
    put(out, place, block, options, true);
  }
}

std::vector<float> amaxes(const Tensor& x, const Nvfp4Options& options, AmaxPer of_line,
                          AmaxTransform transform) {
  return amax_per(x, options.row_scaled ? of_line : AmaxPer::tensor,
                  ignores_nan(options.profile) ? AmaxNans::ignore : AmaxNans::propagate,
                  options.rht ? transform : AmaxTransform::none, options.sign_mask);
}

}  // namespace

CodesAndScales quantize_rowwise(const Tensor& x, const TilesOptions& options,
                                const std::vector<float>& given) {
  const auto transform = options.nvfp4.rht ? AmaxTransform::rowwise : AmaxTransform::none;
  return quantize(values_of(x, transform, options.nvfp4.sign_mask), options, given, false);
}

CodesAndScales quantize_columnwise(const Tensor& x, const TilesOptions& options,
                                   const std::vector<float>& given) {
  if (options.square && !options.nvfp4.rht && options.nvfp4.block_amax.empty()) {
    const CodesAndScales rowwise = quantize_rowwise(x, options, given);
    CodesAndScales out{
        transpose_codes(rowwise.codes, x.rows(), x.cols(), 16),
        transpose_tile_scales(rowwise.scales, x.rows(), (x.cols() + 15) / 16, x.cols()),
        {}};
    if (options.nvfp4.random) round_columns(out, rowwise.scaled, x, options);
    return out;
  }
  const auto transform = options.nvfp4.rht ? AmaxTransform::columnwise : AmaxTransform::none;
  return quantize(values_of(x, transform, options.nvfp4.sign_mask).transposed(), options, given,
                  true);
}

std::vector<float> amax_rowwise(const Tensor& x, const Nvfp4Options& options) {
  return amaxes(x, options, AmaxPer::row, AmaxTransform::rowwise);
}

std::vector<float> amax_columnwise(const Tensor& x, const Nvfp4Options& options) {
  return amaxes(x, options, AmaxPer::column, AmaxTransform::columnwise);
}

}  // namespace diecast::reference
