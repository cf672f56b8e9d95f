// Ten thousand calls of `linear` while other work keeps the GPU busy: a row has its bits in each.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"
#include "ops/linear/drawn_layer.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

constexpr std::int64_t kCols = 2112, kDepth = 2112, kMostRows = 300, kLoadRows = 2048;
constexpr int kCalls = 50;  // of a graph

class LinearUnderLoad : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    stream_ = device_->create_stream().value();
    other_ = device_->create_stream().value();
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    device_->destroy_stream(stream_).value();
    device_->destroy_stream(other_).value();
  }

  Stream stream_, other_;
};

// With parts of the sum in turn and by clusters; in four parts by tiles of every size.
TEST_F(LinearUnderLoad, ARowHasItsBitsTenThousandTimes) {
  const DrawnLayer layer(Format::nvfp4, kCols, kDepth, kLoadRows);
  const DeviceBuffer x(*device_, layer.x.data(), layer.x.size() * 2);
  const DeviceBuffer packed(*device_, layer.packed.data(), layer.packed.size());
  const float one = 1.0f;
  const DeviceBuffer factor(*device_, &one, sizeof one);
  const auto bytes_of = [](std::int64_t rows) {
    return static_cast<std::size_t>(rows * kCols * 4);
  };
  const DeviceBuffer out(*device_, kCalls * bytes_of(kMostRows)),
      loaded(*device_, bytes_of(kLoadRows));
  const auto call = [&](std::int64_t rows, int split, std::uint8_t* to, Stream stream) {
    return linear(*test_runtime(),
                  {.data = x.data_pointer(), .dtype = DType::bf16, .shape = {rows, kDepth}},
                  {.shape = {kCols, kDepth},
                   .data = packed.data_pointer(),
                   .bytes = static_cast<std::int64_t>(layer.packed.size())},
                  reinterpret_cast<const float*>(factor.data_pointer()),
                  {.data = to, .dtype = DType::f32, .shape = {rows, kCols}},
                  {.split = split, .device = device_}, stream);
  };
  for (const std::int64_t rows : {1, 16, 32, 64, 128, 192, 256, 300}) {
    for (const int split : {1, 4}) {
      const std::size_t bytes = bytes_of(rows);
      call(rows, split, loaded.data_pointer(), stream_).value();
      device_->synchronize(stream_).value();
      std::vector<std::uint8_t> wanted(bytes), got(kCalls * bytes);
      device_->copy_to_host(wanted.data(), loaded.data_pointer(), bytes, stream_).value();
      call(kLoadRows, split, loaded.data_pointer(), other_).value();
      const auto calls = device_->capture(stream_, [&]() -> Result<void> {
        for (int i = 0; i < kCalls; ++i)
          DIECAST_CHECK(call(rows, split, out.data_pointer() + i * bytes, stream_));
        return {};
      });
      ASSERT_TRUE(calls) << calls.error().message();
      for (int repeat = 0; repeat < 13; ++repeat) {  // 10,400 calls in all
        for (int i = 0; i < 4; ++i) call(kLoadRows, split, loaded.data_pointer(), other_).value();
        (*calls)->repeat().value();
        device_->copy_to_host(got.data(), out.data_pointer(), got.size(), stream_).value();
        device_->synchronize(stream_).value();
        for (int i = 0; i < kCalls; ++i)
          ASSERT_EQ(std::memcmp(got.data() + i * bytes, wanted.data(), bytes), 0)
              << rows << " rows in " << split << ", call " << i;
      }
      device_->synchronize(other_).value();
    }
  }
}

}  // namespace
}  // namespace diecast
