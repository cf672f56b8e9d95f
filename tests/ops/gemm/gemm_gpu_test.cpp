// gemm_nvfp4 on a GPU by each of its ways: tensor cores on f16, on bytes, and no tensor cores give
// the host's bits, over depths where f32 sums round at nearly every block. And by cuBLASLt, where
// the GPU and the library have it.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"

namespace diecast {
namespace {

using Octets = std::vector<std::uint8_t>;

// An operand of random codes and scales in a device's memory.
struct GemmInput {
  QuantizedTensor view;
  std::unique_ptr<variants::DeviceBuffer> codes, scales, amax;

  GemmInput(Device& device, std::int64_t rows, std::int64_t depth, bool row_scaled,
            std::uint64_t seed, ScaleLayout layout = ScaleLayout::linear) {
    std::mt19937_64 random(seed);
    view.shape = {rows, depth};
    view.type.layout = layout;
    view.type.row_scaled = row_scaled;
    view.rowwise = view.rowwise_sizes().value();
    Octets code_bytes(static_cast<std::size_t>(view.rowwise.data_bytes));
    Octets scale_bytes(static_cast<std::size_t>(view.rowwise.scale_bytes));
    std::vector<float> amaxes(static_cast<std::size_t>(view.rowwise.amax_count));
    for (auto& byte : code_bytes) byte = static_cast<std::uint8_t>(random());
    for (auto& byte : scale_bytes) byte = static_cast<std::uint8_t>(random() % 0x7F);
    for (auto& one : amaxes) one = 0.5f + static_cast<float>(random() % 4096) / 1024.0f;
    using variants::DeviceBuffer;
    codes = std::make_unique<DeviceBuffer>(device, code_bytes.data(), code_bytes.size());
    scales = std::make_unique<DeviceBuffer>(device, scale_bytes.data(), scale_bytes.size());
    amax = std::make_unique<DeviceBuffer>(device, amaxes.data(), amaxes.size() * 4);
    view.rowwise.data = codes->data_pointer();
    view.rowwise.scale = scales->data_pointer();
    view.rowwise.amax = reinterpret_cast<float*>(amax->data_pointer());
  }
};

struct GemmCase {
  std::int64_t rows, cols, depth;
  bool row_scaled;
};

Octets product(const std::shared_ptr<Device>& device, const GemmCase& one, GemmMath math,
               GemmTile tile) {
  const GemmInput a(*device, one.rows, one.depth, one.row_scaled, 1);
  const GemmInput b(*device, one.cols, one.depth, one.row_scaled, 2);
  variants::DeviceBuffer out(*device, static_cast<std::size_t>(one.rows * one.cols * 4));
  const Tensor view{out.data_pointer(), DType::f32, Shape{one.rows, one.cols}, 0, nullptr};
  GemmNvfp4Options options;
  options.device = device;
  auto request =
      PreparedGemmNvfp4::Request::of(a.view, b.view, view, options, device->properties());
  request.math = math;
  request.tile = tile;
  const auto op = PreparedGemmNvfp4::prepare(*test_runtime(), device, request).value();
  op.run(a.view, b.view, view, options, {}).value();
  return out.bytes();
}

// By path unpacked, or why it is not to be had.
Result<Octets> unpacked_product(const std::shared_ptr<Device>& device, const GemmCase& one) {
  const GemmInput a(*device, one.rows, one.depth, one.row_scaled, 1);
  const GemmInput b(*device, one.cols, one.depth, one.row_scaled, 2);
  variants::DeviceBuffer out(*device, static_cast<std::size_t>(one.rows * one.cols * 4));
  const Tensor view{out.data_pointer(), DType::f32, Shape{one.rows, one.cols}, 0, nullptr};
  GemmNvfp4Options options;
  options.device = device;
  options.path = "unpacked";
  options.scratch_bytes = GemmUnpackedRequest::scratch_bytes(one.rows, one.cols, one.depth);
  variants::DeviceBuffer scratch(*device, static_cast<std::size_t>(options.scratch_bytes));
  options.scratch = scratch.data_pointer();
  DIECAST_CHECK(gemm_nvfp4(*test_runtime(), a.view, b.view, view, options));
  return out.bytes();
}

class GemmNvfp4OnGpu : public GpuDeviceTest {};

TEST_F(GemmNvfp4OnGpu, UnpackedGivesTheSameBits) {
  for (const GemmCase& one : {GemmCase{130, 200, 8192, false}, GemmCase{257, 129, 4112, true},
                              GemmCase{1, 300, 16384, true}, GemmCase{64, 64, 48, false},
                              GemmCase{2304, 4100, 1024, false}}) {
    const auto got = unpacked_product(device_, one);
    if (!got && got.error().code == ErrorCode::not_supported) GTEST_SKIP() << got.error().message();
    EXPECT_EQ(*got, product(device_, one, GemmMath::f16, GemmTile::large))
        << one.rows << "x" << one.cols << "x" << one.depth;
  }
}

TEST_F(GemmNvfp4OnGpu, EveryWayGivesTheHostsBits) {
  const auto host = open_host_device({});
  if (!host) GTEST_SKIP() << host.error().message();
  for (const GemmCase& one : {GemmCase{130, 200, 8192, false}, GemmCase{257, 129, 4112, true},
                              GemmCase{1, 300, 16384, true}, GemmCase{64, 64, 48, false}}) {
    const Octets want = product(*host, one, GemmMath::f16, GemmTile::large);
    for (const GemmMath math : {GemmMath::f16, GemmMath::s8, GemmMath::dp4a}) {
      for (const GemmTile tile : {GemmTile::small, GemmTile::large}) {
        EXPECT_EQ(product(device_, one, math, tile), want)
            << one.rows << "x" << one.cols << "x" << one.depth << " way " << static_cast<int>(math)
            << " tile " << static_cast<int>(tile);
      }
    }
  }
}

// By the path that is named: f32 [rows, cols] of random operands, or why it is not to be had.
Result<std::vector<float>> product_by(const std::shared_ptr<Device>& device, const GemmCase& one,
                                      std::string_view path) {
  const ScaleLayout layout = ScaleLayout::s128x4;
  const GemmInput a(*device, one.rows, one.depth, one.row_scaled, 1, layout);
  const GemmInput b(*device, one.cols, one.depth, one.row_scaled, 2, layout);
  std::vector<float> values(static_cast<std::size_t>(one.rows * one.cols));
  variants::DeviceBuffer out(*device, values.size() * sizeof(float));
  const Tensor view{out.data_pointer(), DType::f32, Shape{one.rows, one.cols}, 0, nullptr};
  GemmNvfp4Options options;
  options.device = device;
  options.path = path;
  const auto request = PreparedGemmCublaslt::Request::of(a.view, b.view, view, options);
  options.scratch_bytes = request.scratch_bytes(one.rows, one.cols);
  variants::DeviceBuffer scratch(*device, static_cast<std::size_t>(options.scratch_bytes));
  options.scratch = scratch.data_pointer();
  DIECAST_CHECK(gemm_nvfp4(*test_runtime(), a.view, b.view, view, options));
  std::memcpy(values.data(), out.bytes().data(), values.size() * sizeof(float));
  return values;
}

TEST_F(GemmNvfp4OnGpu, CublasLtComesAsNearAsSumsInAnotherOrderDo) {
  for (const GemmCase& one : {GemmCase{256, 384, 4096, false}, GemmCase{256, 384, 4096, true}}) {
    const auto got = product_by(device_, one, "cublaslt");
    if (!got && got.error().code != ErrorCode::driver_error) GTEST_SKIP() << got.error().message();
    const std::vector<float> want = product_by(device_, one, "own").value();
    float largest = 0, error = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      largest = std::max(largest, std::abs(want[i]));
      error = std::max(error, std::abs(got.value()[i] - want[i]));
    }
    EXPECT_LE(error, 1e-4f * largest) << (one.row_scaled ? "row-scaled" : "one amax each");
  }
}

}  // namespace
}  // namespace diecast
