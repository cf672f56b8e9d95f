// Groups on a GPU are what they are on the host, to the bit: offsets and counts that the device
// alone knows, tensors that lie anywhere, shared amaxes. Outputs are poisoned before.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"
#include "ops/variant_case.h"

namespace diecast {
namespace {

using Octets = std::vector<std::uint8_t>;

// Memory of one device, and what all of its outputs hold in the end.
class Outputs {
 public:
  explicit Outputs(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  template <class T>
  T* copied(const std::vector<T>& content) {
    const std::size_t bytes = content.size() * sizeof(T);
    return reinterpret_cast<T*>(
        inputs_.emplace_back(*device_, content.data(), bytes).data_pointer());
  }
  void* room(std::int64_t bytes) {
    return outputs_.emplace_back(*device_, static_cast<std::size_t>(bytes)).data_pointer();
  }
  void allocate(QuantizedSide& side) {
    side.data = room(side.data_bytes);
    side.scale = room(side.scale_bytes);
    side.amax = static_cast<float*>(room(side.amax_count * 4));
  }
  // Of values that quantizers stumble over, NaN and infinity too.
  Tensor matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    const auto values = variants::hostile_values(DType::bf16, rows * cols, seed, true);
    return {copied(values), DType::bf16, Shape{rows, cols}, 0, nullptr};
  }
  std::vector<Octets> all() const {
    std::vector<Octets> out;
    for (const auto& buffer : outputs_) {
      EXPECT_TRUE(buffer.guards_are_whole());
      out.push_back(buffer.bytes());
    }
    return out;
  }
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  std::shared_ptr<Device> device_;
  std::deque<variants::DeviceBuffer> inputs_, outputs_;
};

QuantizeNvfp4GroupedOptions options_for(const Outputs& outputs, bool transformed) {
  QuantizeNvfp4GroupedOptions options;
  options.device = outputs.device();
  options.rht = transformed ? TransformedSides::both : TransformedSides::none;
  return options;
}

std::vector<Octets> masked_experts(const std::shared_ptr<Device>& device, bool row_scaled,
                                   ScaleLayout layout, bool transformed) {
  constexpr std::int64_t kExperts = 6, kMost = 160, kCols = 272;
  Outputs outputs(device);
  QuantizedGroup group;
  group.count = kExperts;
  group.whole.shape = {kExperts * kMost, kCols};
  group.whole.type.row_scaled = row_scaled;
  group.whole.type.layout = layout;
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i <= kExperts; ++i) offsets.push_back(i * kMost);
  group.device_row_offsets = outputs.copied(offsets);
  group.device_row_counts = outputs.copied(std::vector<std::int32_t>{160, 0, 1, 129, 17, 500});
  group.members = static_cast<MemberDescriptor*>(
      static_cast<void*>(outputs.copied(Octets(kExperts * sizeof(MemberDescriptor)))));
  outputs.allocate(group.whole.rowwise = group.rowwise_sizes().value());
  outputs.allocate(group.whole.columnwise = group.columnwise_sizes().value());
  const Tensor x = outputs.matrix(kExperts * kMost, kCols, 3);
  quantize_nvfp4_grouped(*test_runtime(), x, group, options_for(outputs, transformed)).value();
  return outputs.all();
}

std::vector<Octets> anywhere(const std::shared_ptr<Device>& device, bool row_scaled,
                             ScaleLayout layout, bool transformed) {
  constexpr std::int64_t kCols = 272;
  Outputs outputs(device);
  auto* const shared = static_cast<float*>(outputs.room(2 * 4));
  std::vector<QuantizedPair> pairs;
  for (const std::int64_t rows : {300, 0, 1, 128, 77}) {
    QuantizedPair pair;
    pair.x = outputs.matrix(rows, kCols, static_cast<std::uint64_t>(rows));
    pair.out.shape = pair.x.shape;
    pair.out.type.row_scaled = row_scaled;
    pair.out.type.layout = layout;
    outputs.allocate(pair.out.rowwise = pair.out.rowwise_sizes().value());
    outputs.allocate(pair.out.columnwise = pair.out.columnwise_sizes().value());
    if (!row_scaled) pair.out.rowwise.amax = shared, pair.out.columnwise.amax = shared + 1;
    pairs.push_back(pair);
  }
  TensorGroup group{pairs, nullptr};
  std::vector<MemberDescriptor> members(pairs.size());
  group.describe(members.data()).value();
  group.members = outputs.copied(members);
  quantize_nvfp4_grouped(*test_runtime(), group, options_for(outputs, transformed)).value();
  return outputs.all();
}

// Members under amaxes of their blocks, or of FP8, in 1x16 blocks or squares.
std::vector<Octets> given(const std::shared_ptr<Device>& device, bool square, ScaleLayout layout,
                          bool fp8) {
  constexpr std::int64_t kRows = 340, kCols = 272;
  Outputs outputs(device);
  QuantizedGroup group;
  group.count = 4;
  group.whole.shape = {kRows, kCols};
  group.whole.type.square = square;
  group.whole.type.layout = layout;
  if (!fp8) group.whole.type.profile = Profile::modelopt;
  group.device_row_offsets = outputs.copied(std::vector<std::int64_t>{0, 33, 33, 210, kRows});
  group.device_row_counts = outputs.copied(std::vector<std::int32_t>{33, 0, 100, 130});
  group.members = static_cast<MemberDescriptor*>(
      static_cast<void*>(outputs.copied(Octets(4 * sizeof(MemberDescriptor)))));
  outputs.allocate(group.whole.rowwise = group.rowwise_sizes().value());
  outputs.allocate(group.whole.columnwise = group.columnwise_sizes().value());
  const std::vector<float> amaxes = {3.0f, 1.0f, 0.5f, 6.0f};
  group.whole.rowwise.amax = outputs.copied(amaxes);
  group.whole.columnwise.amax = outputs.copied(amaxes);
  Tensor x = outputs.matrix(kRows, kCols, 5);
  QuantizeNvfp4GroupedOptions options = options_for(outputs, false);
  options.amax_given = true;
  if (fp8) {
    x.data = outputs.copied(variants::hostile_values(DType::e4m3, kRows * kCols, 5, true));
    x.dtype = DType::e4m3;
  } else {
    const auto blocks = variants::block_amaxes((kRows + 16 * 4) * kCols / 16, 6);
    options.block_amax = {outputs.copied(blocks), outputs.copied(blocks)};
  }
  quantize_nvfp4_grouped(*test_runtime(), x, group, options).value();
  return outputs.all();
}

class GroupedOnGpu : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    auto host = open_host_device({});
    if (!host) GTEST_SKIP() << host.error().message();
    host_ = std::move(*host);
  }
  template <class Made>
  void expect_equal(Made made) {
    for (const bool row_scaled : {false, true}) {
      for (const auto layout : {ScaleLayout::linear, ScaleLayout::s128x4}) {
        for (const bool transformed : {false, true}) {
          EXPECT_TRUE(made(device_, row_scaled, layout, transformed) ==
                      made(host_, row_scaled, layout, transformed))
              << row_scaled << " " << word(layout) << " " << transformed;
        }
      }
    }
  }
  std::shared_ptr<Device> host_;
};

TEST_F(GroupedOnGpu, MaskedExpertsAreWhatTheHostMakes) { expect_equal(masked_experts); }
TEST_F(GroupedOnGpu, TensorsAnywhereAreWhatTheHostMakes) { expect_equal(anywhere); }
TEST_F(GroupedOnGpu, WhatIsGivenIsTakenAsOnTheHost) { expect_equal(given); }

class AmaxGroupedOnGpu : public GpuDeviceTest {};

// The driver fills no memory of two allocations at once, though they touch, as those of whole 512
// bytes do.
TEST_F(AmaxGroupedOnGpu, AmaxesMayBeAllocationsThatTouch) {
  Device& device = *device_;
  constexpr std::int64_t kCols = 128, kRows = 16;
  constexpr std::size_t kBytes = kCols * sizeof(float);
  std::vector<std::uint8_t*> all;
  for (int i = 0; i < 64; ++i)
    all.push_back(static_cast<std::uint8_t*>(device.allocate(kBytes).value()));
  std::ranges::sort(all);
  const auto first = std::ranges::adjacent_find(
      all, [](std::uint8_t* a, std::uint8_t* b) { return a + kBytes == b; });
  ASSERT_NE(first, all.end());

  Outputs memory(device_);
  std::vector<QuantizedPair> pairs(2);
  for (std::uint16_t i = 0; i < 2; ++i) {
    const std::uint16_t two_or_four = 0x4000 + 0x80 * i;  // as bf16
    auto& [x, out] = pairs[i];
    x = {memory.copied(std::vector<std::uint16_t>(kRows * kCols, two_or_four)), DType::bf16,
         Shape{kRows, kCols}, 0, nullptr};
    out.shape = x.shape;
    out.type.row_scaled = true;
    memory.allocate(out.columnwise = out.columnwise_sizes().value());
    out.columnwise.amax = reinterpret_cast<float*>(first[i]);
    device.fill(out.columnwise.amax, 0x7F, kBytes, {}).value();
  }
  std::vector<MemberDescriptor> descriptors(2);
  TensorGroup group{pairs, nullptr};
  group.describe(descriptors.data()).value();
  group.members = memory.copied(descriptors);

  PreparedAmaxGrouped::Request request;
  request.per = AmaxPer::column;
  const auto op = PreparedAmaxGrouped::prepare(*runtime_, device_, request).value();
  op.run(group, Sides::columnwise, {}).value();
  std::array<float, 2 * kCols> found{};
  device.copy_to_host(found.data(), *first, kBytes, {}).value();
  device.copy_to_host(found.data() + kCols, first[1], kBytes, {}).value();
  device.synchronize({}).value();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i < kCols ? 2 : 4) << i;
  for (std::uint8_t* one : all) device.free(one).value();
}

}  // namespace
}  // namespace diecast
