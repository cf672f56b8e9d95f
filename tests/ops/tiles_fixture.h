// Ops on the host device with outputs in poisoned memory between guards, for the tests of what
// looks at a matrix along both sides.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/host_device_test.h"
#include "ops/test_runtime.h"
#include "ops/variants.h"

namespace diecast {

using Octets = std::vector<std::uint8_t>;

class TilesOnHost : public HostDeviceTest {
 protected:
  void TearDown() override {
    for (const auto& buffer : buffers_) EXPECT_TRUE(buffer.guards_are_whole());
  }

  std::uint8_t* memory(std::int64_t bytes) {
    return buffers_.emplace_back(*device_, static_cast<std::size_t>(bytes)).data_pointer();
  }
  template <class T>
  T* memory(const std::vector<T>& content) {
    const std::size_t bytes = content.size() * sizeof(T);
    return reinterpret_cast<T*>(
        buffers_.emplace_back(*device_, content.data(), bytes).data_pointer());
  }
  // What device memory holds: the host's, so that reading it is a copy.
  static Octets bytes_at(const void* data, std::int64_t count) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    return {first, first + count};
  }

  // A matrix; `hidden` rows of NaN lie behind it.
  Tensor matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed, std::int64_t hidden = 0,
                DType dtype = DType::bf16) {
    Octets values = variants::hostile_values(dtype, rows * cols, seed, seed % 2 != 0);
    const std::int64_t hidden_bytes = hidden * cols * dtype_bits(dtype) / 8;
    values.insert(values.end(), static_cast<std::size_t>(hidden_bytes), 0xFF);
    return {memory(values), dtype, Shape{rows + hidden, cols}, 0, nullptr};
  }
  void allocate(QuantizedSide& side) {
    side.data = memory(side.data_bytes);
    side.scale = memory(side.scale_bytes);
    side.amax = reinterpret_cast<float*>(memory(side.amax_count * 4));
  }
  // Buffers for x in both directions, as `change` wants the output.
  template <class Change>
  QuantizedTensor output(const Tensor& x, Change change) {
    QuantizedTensor out;
    out.shape = x.shape;
    change(out);
    out.rowwise = out.rowwise_sizes().value();
    out.columnwise = out.columnwise_sizes().value();
    allocate(out.rowwise);
    allocate(out.columnwise);
    return out;
  }
  static void expect_equal(const QuantizedSide& a, const QuantizedSide& b,
                           const std::string& what) {
    EXPECT_EQ(bytes_at(a.amax, a.amax_count * 4), bytes_at(b.amax, b.amax_count * 4)) << what;
    EXPECT_EQ(bytes_at(a.scale, a.scale_bytes), bytes_at(b.scale, b.scale_bytes)) << what;
    EXPECT_EQ(bytes_at(a.data, a.data_bytes), bytes_at(b.data, b.data_bytes)) << what;
  }

  std::shared_ptr<Runtime> runtime_ = test_runtime();
  std::deque<variants::DeviceBuffer> buffers_;
};

}  // namespace diecast
