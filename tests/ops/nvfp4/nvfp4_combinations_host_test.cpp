// Quantizing to NVFP4 under options drawn at random, as callers ask for them, on the host. What
// PROFILES.md defines is equal to the reference to the bit, padding written and gaps left alone;
// what it does not is an error that gives the reason.
#include <diecast/ops/reference/nvfp4_sides.h>

#include <algorithm>
#include <random>

#include "how_many.h"
#include "ops/tiles_fixture.h"
#include "ops/variant_case.h"

namespace diecast {
namespace {

// What a caller asks for. `sides`: 1 rowwise, 2 columnwise, 3 both, and rht in the same way.
struct Asked {
  DType in = DType::bf16;
  Profile profile = Profile::te;
  GlobalScale global = GlobalScale::amax;
  FourOverSix four_over_six = FourOverSix::off;
  ScaleLayout layout = ScaleLayout::linear;
  int bound = 448, block_rows = 1, sides = 1, rht = 0;
  bool tiles = false;  // another direction than rows, or square blocks
  bool given = false, row_scaled = false, block_amax = false, stochastic = false;
  std::int64_t rows = 1, cols = 1, row_gap = 0, scale_gap = 0, hidden = 0;

  explicit Asked(std::mt19937_64& random) {
    const auto pick = [&](int most, int plain_of_10) {  // 0 is plain
      return static_cast<int>(random() % 10) < plain_of_10 ? 0 : static_cast<int>(random() % most);
    };
    constexpr DType kTypes[] = {DType::bf16, DType::f16, DType::f32, DType::e4m3};
    constexpr std::int64_t kSizes[] = {1, 15, 16, 17, 64, 80, 130, 300};
    in = kTypes[pick(4, 3)];
    profile = static_cast<Profile>(pick(10, 2));
    global = static_cast<GlobalScale>(pick(4, 5));
    four_over_six = static_cast<FourOverSix>(pick(3, 6));
    layout = static_cast<ScaleLayout>(pick(3, 2));
    bound = pick(2, 7) == 0 ? 448 : 256;
    block_rows = pick(2, 6) == 0 ? 1 : 16;
    sides = pick(3, 4) + 1;
    tiles = sides != 1 || block_rows != 1;
    rht = tiles ? pick(4, 5) : pick(2, 5);
    given = random() % 2 == 0;
    row_scaled = pick(2, 4) != 0;
    block_amax = pick(2, 8) != 0;
    stochastic = pick(2, 6) != 0;
    rows = kSizes[random() % 8];
    cols = kSizes[random() % 8];
    row_gap = pick(2, 4) == 0 ? 0 : random() % 2 == 0 ? 16 : 3;
    scale_gap = pick(2, 6) * 3;
    hidden = pick(2, 6) * 20;
  }

  bool defined() const {
    const bool te = profile == Profile::te, plain = four_over_six == FourOverSix::off;
    const bool of_amax = global == GlobalScale::amax;
    if (in == DType::e4m3 && rht != 0) return false;
    if (row_scaled && (block_rows != 1 || global == GlobalScale::none)) return false;
    if (scale_gap != 0 && layout != ScaleLayout::linear) return false;
    if ((rht & ~sides) != 0) return false;
    if (!plain && !(te && of_amax)) return false;
    if (bound == 256 && plain && profile != Profile::modelopt) return false;
    if (block_amax && !(profile == Profile::modelopt && of_amax)) return false;
    switch (profile) {
      case Profile::te:
        return true;
      case Profile::pr546:
      case Profile::te_ref:
        return global != GlobalScale::none;
      case Profile::modelopt:
        return of_amax || global == GlobalScale::decode;
      case Profile::torchao:
        return global != GlobalScale::encode;
      case Profile::te_fast:
        return in == DType::bf16 && of_amax && rht == 0 && block_rows == 1;
      case Profile::flashinfer_exact:
        return !tiles && dtype_bits(in) == 16 && rht == 0 && !stochastic &&
               global == (row_scaled ? GlobalScale::amax : GlobalScale::encode);
      case Profile::flashinfer_dsl_exact:
        return !tiles && dtype_bits(in) == 16 && rht == 0 && !stochastic && !row_scaled &&
               global == GlobalScale::encode;
      case Profile::flashinfer_fast:
      case Profile::flashinfer_dsl_fast:
        return false;  // without a GPU
    }
    return false;
  }

  std::string text() const {
    std::string out = std::string(tiles ? "tiles " : "rows ") + std::string(dtype_name(in)) + " ";
    out += std::string(word(profile)) + " " + std::string(word(global)) + " ";
    out += std::string(word(four_over_six)) + " " + std::string(word(layout));
    const std::pair<const char*, std::int64_t> numbers[] = {{"bound", bound},
                                                            {"block_rows", block_rows},
                                                            {"sides", sides},
                                                            {"rht", rht},
                                                            {"given", given},
                                                            {"row_scaled", row_scaled},
                                                            {"block_amax", block_amax},
                                                            {"stochastic", stochastic},
                                                            {"rows", rows},
                                                            {"cols", cols},
                                                            {"row_gap", row_gap},
                                                            {"scale_gap", scale_gap},
                                                            {"hidden", hidden}};
    for (const auto& [name, value] : numbers)
      out += " " + std::string(name) + "=" + std::to_string(value);
    return out;
  }
};

constexpr reference::RandomState kRandomState{20261122, 5};

class Nvfp4CombinationsOnHost : public TilesOnHost {
 protected:
  // x between NaN: behind each row's end, and `hidden` rows of it.
  Tensor matrix_for(const Asked& asked, std::uint64_t seed) {
    const std::int64_t bytes = dtype_bits(asked.in) / 8, stride = asked.cols + asked.row_gap;
    const Octets values =
        variants::hostile_values(asked.in, asked.rows * asked.cols, seed, seed % 2);
    Octets all(static_cast<std::size_t>((asked.rows + asked.hidden) * stride * bytes), 0xFF);
    for (std::int64_t row = 0; row < asked.rows; ++row) {
      std::copy_n(values.begin() + row * asked.cols * bytes, asked.cols * bytes,
                  all.begin() + row * stride * bytes);
    }
    return {memory(all), asked.in, Shape{asked.rows, asked.cols}, stride, nullptr};
  }

  struct Side {
    bool columnwise = false;
    std::int64_t lines = 0, blocks = 0;
    reference::TilesOptions options;
    std::vector<float> amax;  // that is found, or what is given
  };

  Side side_of(const Asked& asked, const Tensor& x, bool columnwise, std::uint64_t seed) {
    Side out{columnwise,
             columnwise ? x.cols() : x.rows(),
             ceil_div(columnwise ? x.rows() : x.cols(), 16),
             {},
             {}};
    reference::Nvfp4Options& options = out.options.nvfp4;
    out.options.square = asked.block_rows == 16;
    options.profile = asked.profile;
    options.global = asked.global;
    options.row_scaled = asked.row_scaled;
    options.four_over_six = asked.four_over_six;
    options.bound = asked.bound;
    options.rht = (asked.rht & (columnwise ? 2 : 1)) != 0;
    options.sign_mask = options.rht ? kHadamardSigns : 0;
    if (asked.stochastic) options.random = kRandomState;
    if (asked.block_amax) {
      const std::int64_t lines = out.options.square ? ceil_div(out.lines, 16) : out.lines;
      options.block_amax = variants::block_amaxes(lines * out.blocks, seed + out.blocks);
    }
    out.amax =
        columnwise ? reference::amax_columnwise(x, options) : reference::amax_rowwise(x, options);
    for (float& value : out.amax) {
      if (asked.global == GlobalScale::encode) value = reference::te_encode_scale(value);
      if (asked.global == GlobalScale::decode) value = reference::te_decode_scale(value);
    }
    return out;
  }

  // Buffers for all rows, and what is given in them.
  void place(QuantizedSide& to, const Asked& asked, const Side& side) {
    if (asked.scale_gap != 0) {
      const std::int64_t all = side.columnwise ? asked.cols : asked.rows + asked.hidden;
      to.scale_stride = side.blocks + asked.scale_gap;
      to.scale_bytes = std::max(to.scale_bytes, all * to.scale_stride);
    }
    allocate(to);
    if (asked.given || asked.block_amax || asked.global != GlobalScale::amax) {
      std::copy(side.amax.begin(), side.amax.end(), to.amax);
    }
  }

  static void expect(const QuantizedSide& got, const Asked& asked, const Tensor& x,
                     const Side& side) {
    const auto want = side.columnwise ? reference::quantize_columnwise(x, side.options, side.amax)
                                      : reference::quantize_rowwise(x, side.options, side.amax);
    Octets scales = reference::laid_out(want.scales, asked.layout, side.lines, side.blocks);
    if (asked.scale_gap != 0) {
      scales.assign(static_cast<std::size_t>(side.lines * got.scale_stride),
                    variants::DeviceBuffer::kPoison);
      for (std::int64_t line = 0; line < side.lines; ++line) {
        std::copy_n(want.scales.begin() + line * side.blocks, side.blocks,
                    scales.begin() + line * got.scale_stride);
      }
    }
    const char* const name = side.columnwise ? "columnwise" : "rowwise";
    const auto equal = [&](const void* data, std::int64_t bytes, Octets image, const char* part) {
      image.resize(static_cast<std::size_t>(bytes), variants::DeviceBuffer::kPoison);
      EXPECT_TRUE(bytes_at(data, bytes) == image) << name << " " << part;
    };
    equal(got.data, got.data_bytes, want.codes, "codes");
    equal(got.scale, got.scale_bytes, scales, "scales");
    // Of rows that do not count there may be an amax of nothing: 0.
    const auto amax_bytes = static_cast<std::int64_t>(side.amax.size() * 4);
    equal(got.amax, amax_bytes, bytes_at(side.amax.data(), amax_bytes), "amax");
  }

  Result<void> run(const Asked& asked, const Tensor& x, const QuantizedTensor& out,
                   const Side sides[2]) {
    const std::int64_t* state = nullptr;
    if (asked.stochastic) {
      state = memory(std::vector<std::int64_t>{static_cast<std::int64_t>(kRandomState.seed),
                                               static_cast<std::int64_t>(kRandomState.offset)});
    }
    const float* of_blocks[2] = {};
    for (int i = 0; i < 2; ++i) {
      if (asked.block_amax) of_blocks[i] = memory(sides[i].options.nvfp4.block_amax);
    }
    QuantizeNvfp4Options options;
    options.amax_given = asked.given;
    options.device = device_;
    options.global = asked.global;
    options.four_over_six = asked.four_over_six;
    options.rht = static_cast<TransformedSides>(asked.rht);
    options.rng_state = state;
    if ((asked.sides & 1) != 0) options.block_amax.rowwise = of_blocks[0];
    if ((asked.sides & 2) != 0) options.block_amax.columnwise = of_blocks[1];
    return quantize_nvfp4(*runtime_, x, out, options);
  }

  // Whether it was defined, and so done.
  bool expect_as_defined(const Asked& asked, std::uint64_t seed) {
    SCOPED_TRACE(asked.text());
    const Tensor x = matrix_for(asked, seed);
    Tensor all = x;
    all.shape = {asked.rows + asked.hidden, asked.cols};
    if (asked.hidden != 0) all.device_rows = memory(std::vector<std::int64_t>{asked.rows});
    QuantizedTensor out;
    out.shape = all.shape;
    out.type.square = asked.block_rows != 1;
    out.type.layout = asked.layout;
    out.type.profile = asked.profile;
    out.type.e4m3_bound = asked.bound;
    out.type.row_scaled = asked.row_scaled;
    const auto rowwise = out.rowwise_sizes(), columnwise = out.columnwise_sizes();
    if (!rowwise) {
      EXPECT_FALSE(asked.defined()) << rowwise.error().message();
      return false;
    }
    const Side sides[2] = {side_of(asked, x, false, seed), side_of(asked, x, true, seed)};
    QuantizedSide* const to[2] = {&out.rowwise, &out.columnwise};
    for (int i = 0; i < 2; ++i) {
      if ((asked.sides & (1 << i)) == 0) continue;
      *to[i] = i == 0 ? *rowwise : *columnwise;
      place(*to[i], asked, sides[i]);
    }
    const auto done = run(asked, all, out, sides);
    EXPECT_EQ(done.ok(), asked.defined()) << (done ? "" : done.error().message());
    if (!done) {
      EXPECT_NE(done.error().message().find("\n  fix: "), std::string::npos);
      return false;
    }
    for (int i = 0; i < 2; ++i) {
      if ((asked.sides & (1 << i)) != 0) expect(*to[i], asked, x, sides[i]);
    }
    return true;
  }
};

TEST_F(Nvfp4CombinationsOnHost, AreTheReferencesOrRefused) {
  std::mt19937_64 random(3);
  const int wanted = testing::unless_sanitized(testing::how_many(8, 200, 4000));
  int done = 0, refused = 0;
  for (std::uint64_t seed = 1; done < wanted && !HasFailure(); ++seed) {
    ++(expect_as_defined(Asked(random), seed) ? done : refused);
    for (const auto& buffer : buffers_) EXPECT_TRUE(buffer.guards_are_whole());
    buffers_.clear();
  }
  EXPECT_GT(refused, done);
}

}  // namespace
}  // namespace diecast
