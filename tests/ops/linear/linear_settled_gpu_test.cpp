// Weights that are fetched before the launch before has ended: the first `linear` behind a pack
// waits for it, later ones need not, and a launch that lets the next begin before it writes the
// weight shows what would become of one that does not wait.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"
#include "ops/linear/drawn_layer.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;
using Octets = std::vector<std::uint8_t>;

// Two stages of linear_few at most: a settled call fetches all of the weight early.
constexpr std::int64_t kCols = 512, kDepth = 512, kMostRows = 32;

DeviceBuffer placed(Device& device, const Octets& bytes) {
  return {device, bytes.data(), bytes.size()};
}

// Two weights of one shape, one of which is packed at a time, and a place for every result.
struct TwoWeights {
  static constexpr int kSlots = 50;

  explicit TwoWeights(const std::shared_ptr<Device>& on) : device(on) {}

  Result<void> pack(int which, Stream stream) const {
    const auto& [of_codes, of_scales] =
        which == 0 ? std::tie(codes, scales) : std::tie(other_codes, other_scales);
    return pack_linear(*test_runtime(),
                       {.shape = {kCols, kDepth},
                        .codes = of_codes.data_pointer(),
                        .scales = of_scales.data_pointer()},
                       weight(), {.device = device}, stream);
  }
  Result<void> multiply(std::int64_t rows, int slot, bool settled, Stream stream) const {
    void* const to = out.data_pointer() + slot * rows * kCols * 4;
    return linear(*test_runtime(),
                  {.data = x.data_pointer(), .dtype = DType::bf16, .shape = {rows, kDepth}},
                  weight(), reinterpret_cast<const float*>(factor.data_pointer()),
                  {.data = to, .dtype = DType::f32, .shape = {rows, kCols}},
                  {.settled = settled, .device = device}, stream);
  }
  PackedLinear weight() const {
    return {.shape = {kCols, kDepth},
            .data = packed.data_pointer(),
            .bytes = static_cast<std::int64_t>(layer.packed.size())};
  }
  Octets result(std::int64_t rows, int slot, Stream stream) const {
    Octets bytes(static_cast<std::size_t>(rows * kCols * 4));
    device
        ->copy_to_host(bytes.data(), out.data_pointer() + slot * rows * kCols * 4, bytes.size(),
                       stream)
        .value();
    device->synchronize(stream).value();
    return bytes;
  }
  // What is to be with that weight; compiles and loads what the tests launch.
  Octets wanted(std::int64_t rows, int which, Stream stream) const {
    pack(which, stream).value();
    device->synchronize(stream).value();
    multiply(rows, 0, false, stream).value();
    return result(rows, 0, stream);
  }

  std::shared_ptr<Device> device;
  const DrawnLayer layer{Format::nvfp4, kCols, kDepth, kMostRows};
  const DrawnLayer other{Format::nvfp4, kCols, kDepth, kMostRows, 1};
  const float one = 1.0f;
  const DeviceBuffer codes = placed(*device, layer.weight.codes),
                     scales = placed(*device, layer.weight.scales),
                     other_codes = placed(*device, other.weight.codes),
                     other_scales = placed(*device, other.weight.scales),
                     packed{*device, layer.packed.size()}, factor{*device, &one, sizeof one},
                     x{*device, layer.x.data(), layer.x.size() * 2},
                     out{*device, static_cast<std::size_t>(kSlots*kMostRows*kCols * 4)};
};

class SettledOnGpu : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (device_->properties().cc != 90) GTEST_SKIP() << "compute capability 9.0 fetches early";
    stream_ = device_->create_stream().value();
  }
  void TearDown() override {
    if (stream_.handle != nullptr) device_->destroy_stream(stream_).value();
  }

  Stream stream_ = {};
};

TEST_F(SettledOnGpu, TheFirstBehindAPackWaitsTenThousandTimes) {
  const TwoWeights of(device_);
  constexpr int kRepeats = 100;
  for (const std::int64_t rows : {1, 16}) {
    const Octets wanted[] = {of.wanted(rows, 0, stream_), of.wanted(rows, 1, stream_)};
    ASSERT_NE(wanted[0], wanted[1]);
    const auto calls = device_->capture(stream_, [&]() -> Result<void> {
      for (int slot = 0; slot < TwoWeights::kSlots; ++slot) {
        DIECAST_CHECK(of.pack(slot % 2, stream_));
        DIECAST_CHECK(of.multiply(rows, slot, false, stream_));
      }
      return {};
    });
    ASSERT_TRUE(calls) << calls.error().message();
    for (int i = 0; i < kRepeats; ++i) {
      (*calls)->repeat().value();
      for (int slot = 0; slot < TwoWeights::kSlots; ++slot)
        ASSERT_TRUE(of.result(rows, slot, stream_) == wanted[slot % 2]) << rows << ", " << slot;
    }
  }
}

// New weights in the same place between replays of one graph, whose later calls fetch early.
TEST_F(SettledOnGpu, CapturedCallsTakeAWeightThatIsPackedAgain) {
  const TwoWeights of(device_);
  for (const std::int64_t rows : {1, 16, 32}) {
    const Octets wanted[] = {of.wanted(rows, 0, stream_), of.wanted(rows, 1, stream_)};
    const auto calls = device_->capture(stream_, [&]() -> Result<void> {
      for (int slot = 0; slot < 4; ++slot)
        DIECAST_CHECK(of.multiply(rows, slot, slot > 0, stream_));
      return {};
    });
    ASSERT_TRUE(calls) << calls.error().message();
    for (int i = 0; i < 200; ++i) {
      of.pack(i % 2, stream_).value();
      (*calls)->repeat().value();
      for (int slot = 0; slot < 4; ++slot)
        ASSERT_TRUE(of.result(rows, slot, stream_) == wanted[i % 2]) << rows << ", " << slot;
    }
  }
}

// The planted fault: the weight is written by a launch that let the next one begin before.
TEST_F(SettledOnGpu, BehindALaunchThatWritesTheWeightLateOnlyACallThatWaitsIsRight) {
  const TwoWeights of(device_);
  const auto runtime = test_runtime_with("linear/ends_early.cu");
  const auto kernel =
      runtime->preload(runtime->specialize_for("ends_early", {}, *device_).value(), device_)
          .value();
  const Octets old_bits = of.wanted(1, 0, stream_), new_bits = of.wanted(1, 1, stream_);
  const DeviceBuffer next = placed(*device_, of.other.packed);
  const auto after_late_write = [&](bool settled) {
    of.pack(0, stream_).value();
    device_->synchronize(stream_).value();
    kernel
        ->launch({{"from", next.argument(DType::u32)},
                  {"to", of.packed.argument(DType::u32)},
                  {"words",
                   KernelArgument::size(static_cast<std::int64_t>(of.other.packed.size()) / 4)}},
                 stream_)
        .value();
    of.multiply(1, 0, settled, stream_).value();
    return of.result(1, 0, stream_);
  };
  int stale = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(after_late_write(false) == new_bits) << i;
    stale += after_late_write(true) == old_bits ? 1 : 0;
  }
  EXPECT_GT(stale, 0) << "a settled call was expected to read the weight before it was written";
}

}  // namespace
}  // namespace diecast
