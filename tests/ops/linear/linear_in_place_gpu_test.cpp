// A residual that is out itself: each kernel of a GPU reads an element before it writes the same
// one.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <vector>

#include "ops/device_buffer.h"
#include "ops/linear/drawn_layer.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

class LinearInPlaceOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto device = open_cuda_device(0);
    if (!device) GTEST_SKIP() << device.error().message();
    device_ = *device;
  }

  // The bytes of out with such a residual, which is out or lies apart.
  std::vector<std::uint8_t> run(const DrawnLayer& layer, std::int64_t rows, DType type,
                                const std::vector<std::uint8_t>& residual, LinearOptions options,
                                bool in_place) {
    const std::int64_t cols = layer.weight.rows, depth = layer.weight.cols;
    const DeviceBuffer x(*device_, layer.x.data(), static_cast<std::size_t>(rows * depth) * 2);
    const DeviceBuffer packed(*device_, layer.packed.data(), layer.packed.size());
    const float one = 1.0f;
    const DeviceBuffer factor(*device_, &one, sizeof one);
    const DeviceBuffer before(*device_, residual.data(), residual.size());
    const DeviceBuffer apart(*device_, residual.size());
    const auto view = [&](const DeviceBuffer& of) {
      return Tensor{.data = of.data_pointer(), .dtype = type, .shape = {rows, cols}};
    };
    options.residual = view(before);
    options.device = device_;
    const DeviceBuffer& out = in_place ? before : apart;
    const auto made = linear(
        *test_runtime(), {.data = x.data_pointer(), .dtype = DType::bf16, .shape = {rows, depth}},
        {.shape = Shape{cols, depth},
         .data = packed.data_pointer(),
         .bytes = static_cast<std::int64_t>(layer.packed.size())},
        reinterpret_cast<const float*>(factor.data_pointer()), view(out), options);
    if (!made) ADD_FAILURE() << made.error().message();
    EXPECT_TRUE(out.guards_are_whole());
    return out.bytes();
  }

  std::shared_ptr<Device> device_;
};

// On both sides of each boundary of the op's table; columns that end within a vector too.
TEST_F(LinearInPlaceOnGpu, HasTheBitsOfAResidualThatLiesApart) {
  constexpr std::int64_t kDepth = 2112, kRows = 600;
  for (const std::int64_t cols : {200, 204, 203}) {
    const DrawnLayer layer(Format::nvfp4, cols, kDepth, kRows);
    for (const DType type : {DType::bf16, DType::f32}) {
      const auto bytes = static_cast<std::size_t>(kRows * cols * dtype_bits(type) / 8);
      std::vector<std::uint8_t> residual(bytes);
      for (std::size_t i = 0; i < bytes; ++i)  // finite in either type
        residual[i] = static_cast<std::uint8_t>(i % 2 == 0 ? i * 7 : 0x40 + i % 3);
      for (const int split : {1, 2, 8}) {
        for (const std::int64_t rows : {1, 8, 17, 33, 65, 257, 600}) {
          const std::vector<std::uint8_t> of_rows(
              residual.begin(), residual.begin() + rows * cols * dtype_bits(type) / 8);
          EXPECT_EQ(run(layer, rows, type, of_rows, {.split = split}, true),
                    run(layer, rows, type, of_rows, {.split = split}, false))
              << rows << " rows of " << cols << ", split " << split;
        }
      }
    }
  }
}

}  // namespace
}  // namespace diecast
