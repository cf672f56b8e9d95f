// What quantize_nvfp4 must do on any device: the edge rows of every profile as the reference has
// them, and properties that hold whatever the formula.
#pragma once

#include <diecast/diecast.h>
#include <diecast/ops/reference/nvfp4.h>
#include <gtest/gtest.h>
#include <ops/device_buffer.h>
#include <ops/host_matrix.h>
#include <ops/test_runtime.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace diecast::testing {

struct Quantized {
  std::vector<std::uint8_t> codes, scales;
  std::vector<float> amax;
  bool operator==(const Quantized&) const = default;
};

// x through the op; `given` empty: the amax is found. `describe` changes the output's description.
template <class Describe>
Quantized quantize(const std::shared_ptr<Device>& device, HostMatrix& x, std::vector<float> given,
                   QuantizeNvfp4Options options, Describe describe) {
  using variants::DeviceBuffer;
  QuantizedTensor out;
  out.shape = Shape{x.rows, x.cols};
  describe(out);
  out.rowwise = out.rowwise_sizes().value();
  const auto bytes = static_cast<std::size_t>(x.rows * x.stride * dtype_bits(x.dtype) / 8);
  DeviceBuffer input(*device, x.words.data(), bytes);
  DeviceBuffer codes(*device, static_cast<std::size_t>(out.rowwise.data_bytes));
  DeviceBuffer scales(*device, static_cast<std::size_t>(out.rowwise.scale_bytes));
  DeviceBuffer amax(*device, static_cast<std::size_t>(out.rowwise.amax_count) * 4);
  if (!given.empty()) {
    device->copy_to_device(amax.data_pointer(), given.data(), given.size() * 4, {}).value();
  }
  out.rowwise.data = codes.data_pointer();
  out.rowwise.scale = scales.data_pointer();
  out.rowwise.amax = reinterpret_cast<float*>(amax.data_pointer());
  options.device = device;
  options.amax_given = !given.empty();
  const Tensor view = {input.data_pointer(), x.dtype, Shape{x.rows, x.cols},
                       x.stride == x.cols ? 0 : x.stride, nullptr};
  quantize_nvfp4(*test_runtime(), view, out, options).value();
  Quantized got{codes.bytes(), scales.bytes(), {}};
  if (options.global == GlobalScale::none) return got;
  const auto bits = amax.bytes();
  got.amax.resize(bits.size() / 4);
  if (!bits.empty()) std::memcpy(got.amax.data(), bits.data(), bits.size());
  return got;
}

// A profile with the options that it alone has.
struct Arithmetic {
  Profile profile = Profile::te;
  FourOverSix four_over_six = FourOverSix::off;
  int bound = 448;

  std::string name() const {
    return std::string(word(profile)) + " " + std::string(word(four_over_six)) + " " +
           std::to_string(bound);
  }
};

inline std::vector<Arithmetic> arithmetics() {
  std::vector<Arithmetic> all = {{Profile::te},       {Profile::pr546},
                                 {Profile::modelopt}, {Profile::modelopt, FourOverSix::off, 256},
                                 {Profile::torchao},  {Profile::te_ref}};
  for (const auto rule : {FourOverSix::mae, FourOverSix::mse}) {
    for (const int bound : {448, 256}) all.push_back({Profile::te, rule, bound});
  }
  return all;
}

inline Quantized quantize(const std::shared_ptr<Device>& device, HostMatrix& x,
                          const Arithmetic& how, std::vector<float> given = {},
                          bool row_scaled = false) {
  QuantizeNvfp4Options options;
  options.four_over_six = how.four_over_six;
  return quantize(device, x, std::move(given), options, [&](QuantizedTensor& out) {
    out.type.profile = how.profile;
    out.type.e4m3_bound = how.bound;
    out.type.row_scaled = row_scaled;
  });
}

inline Quantized reference_of(HostMatrix& x, const Arithmetic& how, std::vector<float> given,
                              bool row_scaled, bool rht = false) {
  reference::Nvfp4Options options;
  options.profile = how.profile;
  options.four_over_six = how.four_over_six;
  options.bound = how.bound;
  options.row_scaled = row_scaled;
  options.rht = rht;
  options.sign_mask = rht ? kHadamardSigns : 0;
  if (given.empty()) given = reference::amax(x.view(), options).value();
  auto q = reference::quantize_nvfp4(x.view(), options, std::move(given)).value();
  return {std::move(q.codes), std::move(q.scales), std::move(q.amax)};
}

// Rows of two blocks: an edge in the first, an ordinary block beside it.
inline std::vector<std::pair<std::string, std::vector<float>>> edge_rows() {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> first[] = {
      {0, -0.0f},           {-0.0f, 3, -1e-3f},       {0x1p-149f, -0x1p-149f},
      {0x1p-126f, -1e-39f}, {inf, 1000, -inf, -0.0f}, {nan, 1, -nan, -0.0f},
      {1e-3f, -1e-3f},      {3e38f, -3e38f, 1},       {1e-37f, -1e-38f},
      {6, -5, 2.5f, 0.25f}};
  std::vector<std::pair<std::string, std::vector<float>>> rows;
  for (const auto& values : first) {
    for (const float beside : {0.0f, 2.0f, 268288.0f}) {
      std::vector<float> row = values;
      row.resize(32, 0.0f);
      for (std::size_t i = 16; i < 32; ++i) row[i] = beside * static_cast<float>(i - 12) / 19.0f;
      rows.emplace_back("edge " + std::to_string(rows.size()), row);
    }
  }
  return rows;
}

inline HostMatrix random_matrix(DType dtype, std::int64_t rows, std::int64_t cols, int seed,
                                float factor = 1.0f) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> normal;
  HostMatrix x(dtype, rows, cols);
  // 8 significant bits, so that a factor is exact in every type.
  return x.fill([&](std::int64_t, std::int64_t) {
    const float value = normal(random);
    return reference::decode_bf16(reference::encode_bf16(value)) * factor;
  });
}

inline bool same_bits(const Quantized& a, const Quantized& b) {
  return a.codes == b.codes && a.scales == b.scales && a.amax.size() == b.amax.size() &&
         (a.amax.empty() || std::memcmp(a.amax.data(), b.amax.data(), a.amax.size() * 4) == 0);
}

inline void expect_edges_as_the_reference(const std::shared_ptr<Device>& device) {
  for (const Arithmetic& how : arithmetics()) {
    for (const auto& [name, row] : edge_rows()) {
      for (const bool row_scaled : {false, true}) {
        HostMatrix x(DType::f32, 1, row);
        EXPECT_TRUE(same_bits(quantize(device, x, how, {}, row_scaled),
                              reference_of(x, how, {}, row_scaled)))
            << how.name() << " " << name << (row_scaled ? " row-scaled" : "");
      }
      for (const float given : {0.0f, 1.0f, 1e-37f, std::numeric_limits<float>::infinity()}) {
        HostMatrix x(DType::f32, 1, row);
        EXPECT_TRUE(
            same_bits(quantize(device, x, how, {given}), reference_of(x, how, {given}, false)))
            << how.name() << " " << name << " under an amax of " << given;
      }
    }
  }
}

// The transform before every profile, under an amax of what comes out of it.
inline void expect_transforms_as_the_reference(const std::shared_ptr<Device>& device) {
  constexpr float kOdd[] = {0.0f, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()};
  for (const Arithmetic& how : arithmetics()) {
    for (int i = 0; i < 6; ++i) {
      const bool row_scaled = i < 3;
      HostMatrix x = random_matrix(DType::bf16, 3, 40, 19);
      x.set(1, 3, kOdd[i % 3]);
      QuantizeNvfp4Options options;
      options.four_over_six = how.four_over_six;
      options.rht = TransformedSides::rowwise;
      const Quantized got = quantize(device, x, {}, options, [&](QuantizedTensor& out) {
        out.type.profile = how.profile;
        out.type.e4m3_bound = how.bound;
        out.type.row_scaled = row_scaled;
      });
      EXPECT_TRUE(same_bits(got, reference_of(x, how, {}, row_scaled, true)))
          << how.name() << (row_scaled ? " row-scaled " : " ") << kOdd[i % 3];
    }
  }
}

// Every value of a 16-bit type, NaN and infinities included, sixteen of any size side by side.
inline void expect_every_pattern_as_the_reference(const std::shared_ptr<Device>& device) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    HostMatrix x(dtype, 64, 1024);
    auto* patterns = reinterpret_cast<std::uint16_t*>(x.words.data());
    for (std::uint32_t i = 0; i < 65536; ++i) patterns[i] = static_cast<std::uint16_t>(i * 40503u);
    for (const Arithmetic& how : arithmetics()) {
      for (const float amax : {2.5f, 60000.0f}) {
        EXPECT_TRUE(
            same_bits(quantize(device, x, how, {amax}), reference_of(x, how, {amax}, false)))
            << how.name() << " " << dtype_name(dtype) << " under an amax of " << amax;
      }
    }
  }
}

// Blocks of few values lose nearly as much under either scale of four over six: one element of some
// size, a fifth that is not zero, small integers; beside normal ones.
inline void expect_near_ties_as_the_reference(const std::shared_ptr<Device>& device) {
  std::mt19937 random(23);
  std::normal_distribution<float> normal;
  HostMatrix x(DType::bf16, 128, 1024);
  x.fill([&](std::int64_t row, std::int64_t col) {
    const float value = normal(random), whole = std::round(2 * value);
    const std::int64_t kind = (row + col / 16) % 4;
    if (kind == 0) return col % 16 == row % 16 ? value : 0.01f * value;
    return kind == 1 ? (random() % 5 == 0 ? value : 0.0f) : kind == 2 ? whole : value;
  });
  for (const Arithmetic& how : arithmetics()) {
    if (how.four_over_six == FourOverSix::off) continue;
    EXPECT_TRUE(same_bits(quantize(device, x, how), reference_of(x, how, {}, false))) << how.name();
  }
}

// Rows quantized one by one are the rows of the whole, with an amax that is given.
inline void expect_rows_one_by_one(const std::shared_ptr<Device>& device) {
  for (const Arithmetic& how : arithmetics()) {
    HostMatrix whole = random_matrix(DType::bf16, 5, 80, 7);
    const Quantized all = quantize(device, whole, how, {2.5f});
    Quantized parts{{}, {}, {2.5f}};
    for (std::int64_t row = 0; row < whole.rows; ++row) {
      HostMatrix one(DType::bf16, 1, whole.cols);
      one.fill([&](std::int64_t, std::int64_t col) { return whole.at(row, col); });
      const Quantized part = quantize(device, one, how, {2.5f});
      parts.codes.insert(parts.codes.end(), part.codes.begin(), part.codes.end());
      parts.scales.insert(parts.scales.end(), part.scales.begin(), part.scales.end());
    }
    EXPECT_EQ(all, parts) << how.name();
  }
}

// A power of two before everything goes into the amax alone.
inline void expect_powers_of_two_change_nothing(const std::shared_ptr<Device>& device) {
  for (const Arithmetic& how : arithmetics()) {
    for (const bool row_scaled : {false, true}) {
      HostMatrix plain = random_matrix(DType::f32, 3, 80, 11);
      const Quantized expected = quantize(device, plain, how, {}, row_scaled);
      for (const int power : {-30, -1, 1, 40}) {
        const float factor = std::ldexp(1.0f, power);
        HostMatrix scaled = random_matrix(DType::f32, 3, 80, 11, factor);
        const Quantized got = quantize(device, scaled, how, {}, row_scaled);
        EXPECT_EQ(got.codes, expected.codes) << how.name() << " 2^" << power;
        EXPECT_EQ(got.scales, expected.scales) << how.name() << " 2^" << power;
        EXPECT_EQ(got.amax[0], expected.amax[0] * factor) << how.name() << " 2^" << power;
      }
    }
  }
}

// Rows that share an amax are row-scaled as they are per tensor, found or given.
inline void expect_equal_amaxes_to_be_one(const std::shared_ptr<Device>& device) {
  for (const Arithmetic& how : arithmetics()) {
    HostMatrix x = random_matrix(DType::f32, 4, 48, 13);
    for (std::int64_t row = 0; row < x.rows; ++row) x.set(row, 3 * row, 5.5f);
    const Quantized tensor = quantize(device, x, how);
    EXPECT_EQ(tensor.amax, std::vector<float>{5.5f});
    for (const auto& given : {std::vector<float>{}, std::vector<float>(4, 5.5f)}) {
      const Quantized rows = quantize(device, x, how, given, true);
      EXPECT_EQ(rows.codes, tensor.codes) << how.name();
      EXPECT_EQ(rows.scales, tensor.scales) << how.name();
      EXPECT_EQ(rows.amax, std::vector<float>(4, 5.5f)) << how.name();
    }
  }
}

// Tiled scales are the linear ones in other places, zeros in the padding; no row, no column:
// nothing.
inline void expect_layouts_to_move_bytes_alone(const std::shared_ptr<Device>& device,
                                               const std::vector<std::pair<int, int>>& shapes) {
  for (const auto& [rows, cols] : shapes) {
    HostMatrix x = random_matrix(DType::bf16, rows, cols, 17);
    const Quantized linear = quantize(device, x, Arithmetic{}, {3.0f});
    for (const ScaleLayout layout : {ScaleLayout::s128x4, ScaleLayout::s8x4}) {
      const Quantized tiled =
          quantize(device, x, {3.0f}, {}, [&](QuantizedTensor& out) { out.type.layout = layout; });
      std::vector<std::uint8_t> expected(tiled.scales.size());
      const std::int64_t blocks = (cols + 15) / 16;
      for (std::int64_t i = 0; i < rows * blocks; ++i) {
        expected[static_cast<std::size_t>(scale_offset(layout, i / blocks, i % blocks, blocks))] =
            linear.scales[static_cast<std::size_t>(i)];
      }
      EXPECT_EQ(tiled.scales, expected) << word(layout) << " " << rows << "x" << cols;
      EXPECT_EQ(tiled.codes, linear.codes);
    }
  }
}

}  // namespace diecast::testing
