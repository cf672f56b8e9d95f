// The reference against vectors made by another implementation of profile `te`.
#include <gtest/gtest.h>

#if __has_include(<nlohmann/json.hpp>)

#include <diecast/ops/reference/nvfp4_te.h>
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

}  // namespace
}  // namespace diecast::reference

#else

TEST(ReferenceNvfp4Te, EqualsEveryPlainVectorToTheBit) {
  GTEST_SKIP() << "nlohmann/json.hpp, which reads the vectors' list of cases, is not installed";
}

#endif
