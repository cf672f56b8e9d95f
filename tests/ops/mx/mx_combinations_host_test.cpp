// Quantizing to the MX formats and back under options drawn at random, as callers ask for them, on
// the host. What PROFILES.md defines is equal to the reference to the bit, padding written and gaps
// left alone; what it does not is an error that gives the reason.
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/tiles.h>

#include <algorithm>
#include <random>

#include "how_many.h"
#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

// What a caller asks for. `sides`: 1 rowwise, 2 columnwise, 3 both.
struct AskedMx {
  DType in = DType::bf16, back = DType::f32;
  Format format = Format::mxfp8_e4m3;
  MxMode mode = MxMode::rceil;
  Profile profile = Profile::te;
  ScaleLayout layout = ScaleLayout::linear;
  bool square = false;
  int sides = 1;
  std::int64_t rows = 1, cols = 1, row_gap = 0, scale_gap = 0;

  explicit AskedMx(std::mt19937_64& random) {
    const auto pick = [&](int count) { return static_cast<int>(random() % count); };
    constexpr DType kTypes[] = {DType::bf16, DType::f16, DType::f32};
    constexpr std::int64_t kSizes[] = {1, 31, 32, 33, 96, 130};
    in = kTypes[pick(3)];
    back = kTypes[pick(3)];
    format = static_cast<Format>(1 + pick(3));
    mode = static_cast<MxMode>(pick(2) * pick(4));
    profile = static_cast<Profile>(pick(8) == 0 ? pick(8) : pick(3) == 0 ? 2 : pick(2) * 3);
    layout = static_cast<ScaleLayout>(pick(3));
    square = pick(3) == 0;
    sides = 1 + pick(3);
    rows = kSizes[pick(6)];
    cols = kSizes[pick(6)];
    row_gap = pick(2) * (pick(2) == 0 ? 32 : 3);
    scale_gap = pick(3) == 0 ? 5 : 0;
  }

  bool defined() const {
    if (scale_gap != 0 && layout != ScaleLayout::linear) return false;
    if (profile == Profile::torchao) return true;
    if (mode != MxMode::rceil) return false;
    if (profile == Profile::te) return format != Format::mxfp4;
    return profile == Profile::modelopt && format == Format::mxfp4 && in == DType::bf16 &&
           sides == 1 && !square;
  }

  std::string text() const {
    std::string out = std::string(word(format)) + " " + std::string(word(mode)) + " " +
                      std::string(word(profile)) + " " + std::string(word(layout)) + " " +
                      std::string(dtype_name(in)) + " to " + std::string(dtype_name(back));
    const std::pair<const char*, std::int64_t> numbers[] = {
        {"square", square}, {"sides", sides},     {"rows", rows},
        {"cols", cols},     {"row_gap", row_gap}, {"scale_gap", scale_gap}};
    for (const auto& [name, value] : numbers)
      out.append(" ").append(name).append("=").append(std::to_string(value));
    return out;
  }
};

class MxCombinationsOnHost : public TilesOnHost {
 protected:
  // Rows of `bytes` each, `gap` bytes of `between` behind each.
  static Octets with_gaps(const Octets& rows, std::int64_t bytes, std::int64_t gap,
                          std::uint8_t between) {
    Octets out;
    for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(bytes)) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(at);
      out.insert(out.end(), first, first + bytes);
      out.insert(out.end(), static_cast<std::size_t>(gap), between);
    }
    return out;
  }

  // The scales as the reference has them, [lines, blocks], in the buffer of a direction.
  static Octets placed(const AskedMx& asked, const Octets& scales, bool columnwise) {
    const std::int64_t lines = columnwise ? asked.cols : asked.rows;
    const std::int64_t blocks = ceil_div(columnwise ? asked.rows : asked.cols, 32);
    if (asked.layout != ScaleLayout::linear)
      return reference::laid_out(scales, asked.layout, lines, blocks);
    const bool in_order = columnwise && asked.format != Format::mxfp4;  // a row a row of blocks
    Octets rows = scales;
    for (std::int64_t i = 0; in_order && i < lines * blocks; ++i) {
      rows[static_cast<std::size_t>(i % blocks * lines + i / blocks)] =
          scales[static_cast<std::size_t>(i)];
    }
    return with_gaps(rows, in_order ? lines : blocks, asked.scale_gap,
                     variants::DeviceBuffer::kPoison);
  }

  void place(QuantizedSide& side, const AskedMx& asked, bool columnwise) {
    if (asked.scale_gap != 0) {
      const bool in_order = columnwise && asked.format != Format::mxfp4;
      const std::int64_t lines = columnwise ? asked.cols : asked.rows;
      const std::int64_t blocks = ceil_div(columnwise ? asked.rows : asked.cols, 32);
      side.scale_stride = (in_order ? lines : blocks) + asked.scale_gap;
      side.scale_bytes =
          std::max(side.scale_bytes, (in_order ? blocks : lines) * side.scale_stride);
    }
    allocate(side);
  }

  void expect(const AskedMx& asked, const Tensor& x, const QuantizedTensor& out, bool columnwise) {
    const bool keeps_nan = asked.profile != Profile::te;
    const reference::MxFormula formula{asked.format, static_cast<reference::MxMode>(asked.mode),
                                       keeps_nan, asked.profile == Profile::modelopt};
    const auto want = reference::quantize_mx(x, formula, columnwise, asked.square).value();
    const QuantizedSide& got = out.side(columnwise);
    const char* const name = columnwise ? "columnwise" : "rowwise";
    EXPECT_TRUE(bytes_at(got.data, got.data_bytes) == want.data) << name << " codes";
    EXPECT_TRUE(bytes_at(got.scale, got.scale_bytes) == placed(asked, want.scales, columnwise))
        << name << " scales";
    const std::int64_t bytes = dtype_bits(asked.back) / 8, stride = asked.cols + asked.row_gap;
    const Tensor back{memory(asked.rows * stride * bytes), asked.back,
                      Shape{asked.rows, asked.cols}, stride, nullptr};
    dequantize_mx(*runtime_, out, back, {device_, columnwise}).value();
    Octets values(static_cast<std::size_t>(asked.rows * asked.cols * bytes));
    for (std::int64_t i = 0; i < asked.rows * asked.cols; ++i) {
      reference::store(values.data(), asked.back, i,
                       reference::mx_element(want, asked.format, columnwise, asked.rows, asked.cols,
                                             i / asked.cols, i % asked.cols));
    }
    EXPECT_TRUE(bytes_at(back.data, asked.rows * stride * bytes) ==
                with_gaps(values, asked.cols * bytes, asked.row_gap * bytes,
                          variants::DeviceBuffer::kPoison))
        << name << " back";
  }

  // Whether it was defined, and so done.
  bool expect_as_defined(const AskedMx& asked, std::uint64_t seed) {
    SCOPED_TRACE(asked.text());
    const std::int64_t bytes = dtype_bits(asked.in) / 8;
    const Octets values =
        variants::hostile_values(asked.in, asked.rows * asked.cols, seed, seed % 2);
    const Tensor x{memory(with_gaps(values, asked.cols * bytes, asked.row_gap * bytes, 0xFF)),
                   asked.in, Shape{asked.rows, asked.cols}, asked.cols + asked.row_gap, nullptr};
    QuantizedTensor out;
    out.shape = x.shape;
    out.type.format = asked.format;
    out.type.square = asked.square;
    out.type.layout = asked.layout;
    out.type.profile = asked.profile;
    if ((asked.sides & 1) != 0) place(out.rowwise = out.rowwise_sizes().value(), asked, false);
    if ((asked.sides & 2) != 0) place(out.columnwise = out.columnwise_sizes().value(), asked, true);
    const auto done = quantize_mx(*runtime_, x, out, {asked.mode, device_});
    EXPECT_EQ(done.ok(), asked.defined()) << (done ? "" : done.error().message());
    if (!done) {
      EXPECT_NE(done.error().message().find("\n  fix: "), std::string::npos);
      return false;
    }
    if ((asked.sides & 1) != 0) expect(asked, x, out, false);
    if ((asked.sides & 2) != 0) expect(asked, x, out, true);
    return true;
  }
};

TEST_F(MxCombinationsOnHost, AreTheReferencesOrRefused) {
  std::mt19937_64 random(4);
  const int wanted = testing::unless_sanitized(testing::how_many(6, 200, 4000));
  int done = 0, refused = 0;
  for (std::uint64_t seed = 1; done < wanted && !HasFailure(); ++seed) {
    ++(expect_as_defined(AskedMx(random), seed) ? done : refused);
    for (const auto& buffer : buffers_) EXPECT_TRUE(buffer.guards_are_whole());
    buffers_.clear();
  }
  EXPECT_GE(refused, done / 4);
}

}  // namespace
}  // namespace diecast
