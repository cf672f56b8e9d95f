// The reference against vectors that Transformer Engine's torch quantizer made: profile `te_ref`,
// and, with the sign of -0 as its kernels set it, profile `te`.
#include <gtest/gtest.h>

#if __has_include(<nlohmann/json.hpp>)

#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_sides.h>
#include <golden_vectors.h>

#include <set>

namespace diecast::reference {
namespace {

DType dtype_of(const golden::Vector& vector) {
  if (vector.dtype == "F32") return DType::f32;
  return vector.dtype == "BF16" ? DType::bf16 : DType::f16;
}

golden::Vector transposed(const golden::Vector& x) {
  const auto rows = static_cast<std::size_t>(x.shape.at(0));
  const auto cols = static_cast<std::size_t>(x.shape.at(1));
  const std::size_t size = x.bytes.size() / (rows * cols);
  golden::Vector out{x.dtype, {x.shape[1], x.shape[0]}, std::vector<std::uint8_t>(x.bytes.size())};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col) {
      std::memcpy(&out.bytes[(col * rows + row) * size], &x.bytes[(row * cols + col) * size], size);
    }
  }
  return out;
}

// x quantized; `suffix` is empty or "_t".
void expect_equal(const golden::Case& vectors, golden::Vector x, const std::string& suffix) {
  const bool row_scaled = vectors.flag("row_scaled");
  const Tensor view{x.bytes.data(), dtype_of(x), {x.shape.at(0), x.shape.at(1)}};
  const Nvfp4 q = te_quantize_nvfp4(view, row_scaled).value();
  std::vector<std::uint32_t> amax_bits(q.amax.size());
  std::memcpy(amax_bits.data(), q.amax.data(), q.amax.size() * sizeof(float));
  EXPECT_EQ(amax_bits, vectors["amax" + suffix].as<std::uint32_t>());
  EXPECT_EQ(q.scales, vectors["scale" + suffix].bytes);
  EXPECT_EQ(q.codes, vectors["data" + suffix].bytes);
}

void expect_known_options(const golden::Case& vectors) {
  static const std::set<std::string> known = {
      "name",       "shape",      "dtype",         "dist",     "seed",    "tile",
      "row_scaled", "columnwise", "four_over_six", "err_mode", "e4m3_max"};
  for (const auto& [option, value] : vectors.options.items()) {
    EXPECT_TRUE(known.count(option)) << option << " = " << value;
  }
}

// Neither 16x16 blocks nor a choice between two block scales: what card `te` alone describes.
bool plain(const golden::Case& vectors) {
  const auto& options = vectors.options;
  return !vectors.flag("four_over_six") &&
         (!options.contains("tile") || options["tile"] == nlohmann::json({1, 16}));
}

TEST(ReferenceNvfp4Te, EqualsEveryPlainVectorToTheBit) {
  const golden::File file = golden::read("nvfp4_te");
  ASSERT_NE(file.title.find("Transformer Engine"), std::string::npos) << file.title;
  int per_tensor = 0, row_scaled = 0, transposes = 0, other = 0;
  for (const golden::Case& vectors : file.cases) {
    SCOPED_TRACE(vectors.options.dump());
    expect_known_options(vectors);
    if (!plain(vectors)) {
      ++other;
      continue;
    }
    ++(vectors.flag("row_scaled") ? row_scaled : per_tensor);
    expect_equal(vectors, vectors["x"], "");
    if (vectors.flag("columnwise")) {
      ++transposes;
      expect_equal(vectors, transposed(vectors["x"]), "_t");
    }
  }
  EXPECT_EQ(per_tensor, 38);
  EXPECT_EQ(row_scaled, 38);
  EXPECT_EQ(transposes, 16);
  EXPECT_EQ(other, 56);
}

// Codes of x's -0 as the torch quantizer has them, which the file has as its kernels do: 0 for 8.
Bytes with_plain_zeros(Bytes codes, const Tensor& x, bool of_columns) {
  const std::int64_t lines = of_columns ? x.cols() : x.rows();
  const std::int64_t length = of_columns ? x.rows() : x.cols(), pitch = (length + 15) / 16 * 16;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t i = 0; i < length; ++i) {
      const float value =
          load(x.data, x.dtype, of_columns ? i * x.cols() + line : line * x.cols() + i);
      if (value != 0.0f) continue;
      const auto at = static_cast<std::size_t>((line * pitch + i) / 2);
      codes[at] &= i % 2 == 0 ? 0xF0 : 0x0F;
    }
  }
  return codes;
}

TEST(ReferenceNvfp4TeRef, EqualsEveryVectorButThoseOfFourOverSixToTheBit) {
  const golden::File file = golden::read("nvfp4_te");
  int rowwise = 0, columnwise = 0, square = 0, zeros = 0;
  for (const golden::Case& vectors : file.cases) {
    SCOPED_TRACE(vectors.options.dump());
    if (vectors.flag("four_over_six")) continue;
    golden::Vector data = vectors["x"];
    const Tensor x{data.bytes.data(), dtype_of(data), {data.shape.at(0), data.shape.at(1)}};
    TilesOptions options;
    options.nvfp4.profile = Profile::te_ref;
    options.nvfp4.row_scaled = vectors.flag("row_scaled");
    options.square = !plain(vectors);
    square += options.square;
    for (const bool of_columns : {false, true}) {
      if (of_columns && !vectors.flag("columnwise")) continue;
      ++(of_columns ? columnwise : rowwise);
      const std::string suffix = of_columns ? "_t" : "";
      const auto amax =
          of_columns ? amax_columnwise(x, options.nvfp4) : amax_rowwise(x, options.nvfp4);
      const auto q =
          of_columns ? quantize_columnwise(x, options, amax) : quantize_rowwise(x, options, amax);
      const Bytes& codes = vectors["data" + suffix].bytes;
      const Bytes want = with_plain_zeros(codes, x, of_columns);
      EXPECT_EQ(q.scales, vectors["scale" + suffix].bytes);
      EXPECT_EQ(q.codes, want);
      zeros += want != codes;
    }
  }
  EXPECT_EQ(rowwise, 84);
  EXPECT_EQ(columnwise, 24);
  EXPECT_EQ(square, 8);
  EXPECT_GT(zeros, 0);  // there are some to tell te_ref from te
}

}  // namespace
}  // namespace diecast::reference

#else

TEST(ReferenceNvfp4Te, EqualsEveryPlainVectorToTheBit) {
  GTEST_SKIP() << "nlohmann/json.hpp, which reads the vectors' list of cases, is not installed";
}

#endif
