// Products by a cuBLASLt that multiplies what it is told, as NVIDIA's manual reads it, and kernels
// that do what theirs do: that the arguments mean the product that the reference has. Its blocks
// are added in our order here, so that the results are equal to the bit.
#include <diecast/ops/reference/gemm_nvfp4.h>
#include <diecast/ops/reference/numbers.h>

#include <random>

#include "ops/gemm_cublaslt.h"

namespace diecast {
namespace {

using testing::FakeLaunch;
using testing::FakeProduct;

// A column of codes [depth, columns] as the library finds its elements and their scales.
struct LibraryMatrix {
  const testing::FakeLayout& layout;
  const std::uint8_t *codes, *scales;

  double element(std::uint64_t column, std::uint64_t k) const {
    const std::uint64_t at = column * static_cast<std::uint64_t>(layout.stride) + k;
    const unsigned pair = codes[at / 2];
    return reference::decode_e2m1(static_cast<std::uint8_t>(at % 2 == 0 ? pair % 16 : pair / 16));
  }
  double scale(std::uint64_t column, std::uint64_t block) const {
    const auto at =
        scale_offset(ScaleLayout::s128x4, static_cast<std::int64_t>(column),
                     static_cast<std::int64_t>(block), static_cast<std::int64_t>(layout.rows / 16));
    return reference::decode_e4m3(scales[at]);
  }
};

float at_pointer(const void* pointer) {
  float value = 0;
  std::memcpy(&value, pointer, sizeof value);
  return value;
}

// D = alpha * A^T B, columns first.
void multiply_as_told(const FakeProduct& told) {
  const auto bytes = [](const void* from) { return static_cast<const std::uint8_t*>(from); };
  const auto scales = [&](int attribute) {
    return bytes(told.operation.attributes.value<const void*>(attribute));
  };
  const LibraryMatrix a{told.a_layout, bytes(told.a), scales(17)};
  const LibraryMatrix b{told.b_layout, bytes(told.b), scales(18)};
  const float alpha = at_pointer(told.alpha);
  ASSERT_EQ(at_pointer(told.beta), 0.0f);
  ASSERT_EQ(told.a_layout.rows, told.b_layout.rows);
  for (std::uint64_t col = 0; col < told.d_layout.cols; ++col) {
    for (std::uint64_t row = 0; row < told.d_layout.rows; ++row) {
      float sum = 0;
      for (std::uint64_t block = 0; block < told.a_layout.rows / 16; ++block) {
        double products = 0;
        for (std::uint64_t k = 16 * block; k < 16 * block + 16; ++k)
          products += a.element(row, k) * b.element(col, k);
        sum += static_cast<float>(products * (a.scale(row, block) * b.scale(col, block)));
      }
      const DType type = told.d_layout.type == 14 ? DType::bf16 : DType::f32;
      const auto at = col * static_cast<std::uint64_t>(told.d_layout.stride) + row;
      reference::store(told.d, type, static_cast<std::int64_t>(at), sum * alpha);
    }
  }
}

class CublasLtProduct : public GemmByCublasLt {
 protected:
  CublasLtProduct() {
    machine_.cuda->parameters["product_factor"] = {8, 8, 8, 8, 4, 4};
    machine_.cuda->parameters["finish_product"] = {8, 8, 8, 8, 8, 8, 8, 4, 4};
    machine_.cuda->on_launch = [this](const FakeLaunch& launch, void**) { run(launch); };
    library_->on_multiply = multiply_as_told;
  }
  static std::vector<float> amaxes(const void* from, std::int64_t count) {
    const auto* first = static_cast<const float*>(from);
    return {first, first + count};
  }
  // What the kernels around the library do, by the reference; see variants_product.cpp.
  void run(const FakeLaunch& launch) {
    const auto pointer = [&](std::size_t i) { return launch.argument<void*>(i); };
    reference::GemmNvfp4 gemm;
    gemm.a.bound = a_.type.e4m3_bound, gemm.b.bound = b_.type.e4m3_bound;
    gemm.a.row_scaled = a_.type.row_scaled, gemm.b.row_scaled = b_.type.row_scaled;
    gemm.alpha = launch.argument<float>(launch.symbol == "product_factor" ? 4 : 7);
    if (launch.symbol == "product_factor") {
      const float factors[] = {
          reference::gemm_factor(gemm, at_pointer(pointer(0)), at_pointer(pointer(1))), 0.0f};
      std::memcpy(pointer(2), factors, sizeof factors);
      return;
    }
    gemm.a.rows = launch.argument<std::int64_t>(5), gemm.b.rows = launch.argument<std::int64_t>(6);
    gemm.a_amax = amaxes(pointer(1), a_.type.row_scaled ? gemm.a.rows : 1);
    gemm.b_amax = amaxes(pointer(2), b_.type.row_scaled ? gemm.b.rows : 1);
    gemm.accumulate = options_.accumulate;
    if (options_.bias) gemm.bias = amaxes(pointer(3), gemm.b.rows);
    const void* const sums = pointer(0) != nullptr ? pointer(0) : pointer(4);
    reference::finish_gemm(gemm, amaxes(sums, gemm.a.rows * gemm.b.rows), pointer(4), out_.dtype);
  }
  // Random codes, scales and amaxes of a side, and the same for the reference.
  reference::PackedNvfp4 fill(const QuantizedTensor& q, bool columnwise) {
    const QuantizedSide& side = q.side(columnwise);
    reference::PackedNvfp4 out;
    out.rows = columnwise ? q.cols() : q.rows(), out.cols = columnwise ? q.rows() : q.cols();
    out.row_bytes = out.cols / 2, out.bound = q.type.e4m3_bound, out.row_scaled = q.type.row_scaled;
    auto* const codes = static_cast<std::uint8_t*>(side.data);
    auto* const scales = static_cast<std::uint8_t*>(side.scale);
    for (std::int64_t i = 0; i < side.data_bytes; ++i)
      out.codes.push_back(codes[i] = static_cast<std::uint8_t>(random_()));
    const std::int64_t blocks = out.cols / 16;
    for (std::int64_t i = 0; i < out.rows * blocks; ++i) {
      const auto byte = static_cast<std::uint8_t>(random_() % 0x7F);
      scales[scale_offset(q.type.layout, i / blocks, i % blocks, blocks)] = byte;
      out.scales.push_back(byte);
    }
    for (std::int64_t i = 0; i < side.amax_count; ++i)
      side.amax[i] = 0.25f + static_cast<float>(random_() % 1000) / 128.0f;
    return out;
  }
  // The call's out against the reference's, whatever stood there before.
  void expect_product() {
    const bool a_columns = options_.layout == "NT", b_columns = options_.layout != "TN";
    reference::GemmNvfp4 gemm{fill(a_, a_columns), fill(b_, b_columns), {}, {}, options_.alpha, {},
                              options_.accumulate};
    gemm.a_amax = amaxes(a_.side(a_columns).amax, a_.side(a_columns).amax_count);
    gemm.b_amax = amaxes(b_.side(b_columns).amax, b_.side(b_columns).amax_count);
    if (options_.bias) {
      auto* const bias = static_cast<float*>(options_.bias->data);
      for (std::int64_t i = 0; i < gemm.b.rows; ++i) bias[i] = static_cast<float>(random_() % 99);
      gemm.bias = amaxes(bias, gemm.b.rows);
    }
    const std::size_t bytes =
        static_cast<std::size_t>(gemm.a.rows * gemm.b.rows * dtype_bits(out_.dtype) / 8);
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<std::uint8_t*>(out_.data)[i] = static_cast<std::uint8_t>(i % 61);
    std::vector<std::uint8_t> want(bytes);
    std::memcpy(want.data(), out_.data, bytes);
    reference::gemm_nvfp4(gemm, want.data(), out_.dtype);
    ASSERT_EQ(outcome(), "ok");
    EXPECT_EQ(std::memcmp(out_.data, want.data(), bytes), 0)
        << options_.layout << " " << dtype_name(out_.dtype) << " " << a_.type.row_scaled
        << b_.type.row_scaled << options_.bias.has_value() << options_.accumulate;
  }

  std::mt19937_64 random_{91};
};

TEST_F(CublasLtProduct, IsTheReferencesByEachLayoutLetter) {
  const std::int64_t m = 136, n = 144, k = 160;  // more than one tile of scales each way
  out_ = {at_256(m * n * 4), DType::bf16, Shape{m, n}, 0, nullptr};
  options_.alpha = 0.7f;
  a_ = tiled(m, k), b_ = tiled(n, k);
  expect_product();
  options_.layout = "NN";
  b_ = tiled(k, n);
  expect_product();
  options_.layout = "NT";
  a_ = tiled(k, m);
  expect_product();
}

TEST_F(CublasLtProduct, IsTheReferencesWithEachOption) {
  out_ = {at_256(8 * 24 * 4), DType::bf16, Shape{8, 24}, 0, nullptr};
  options_.alpha = 0.3f;
  for (int kind = 0; kind < 16; ++kind) {
    a_ = tiled(8, 64, kind % 2 != 0), b_ = tiled(24, 64, kind / 2 % 2 != 0);
    if (!b_.type.row_scaled) b_.type.e4m3_bound = 256;
    options_.bias.reset();
    if (kind / 4 % 2 != 0) options_.bias = bias(24);
    options_.accumulate = kind / 8 != 0;
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
      out_.dtype = dtype;
      expect_product();
    }
  }
}

}  // namespace
}  // namespace diecast
