// Packing weights of a checkpoint on the host, and unpacking them.
#pragma once

#include <diecast/diecast.h>
#include <diecast/ops/reference/packed_linear.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ops/host_device_test.h"
#include "ops/test_runtime.h"

namespace diecast::testing {

class PackLinearOnHost : public HostDeviceTest {
 protected:
  using Octets = std::vector<std::uint8_t>;
  using CheckpointWeight = reference::CheckpointWeight;

  static CheckpointWeight drawn(Format format, std::int64_t rows, std::int64_t cols) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rows * 1000 + cols));
    CheckpointWeight out{format, rows, cols, {}, {}};
    out.codes.resize(static_cast<std::size_t>(rows * cols / 2));
    out.scales.resize(static_cast<std::size_t>(rows * out.blocks()));
    for (auto& byte : out.codes) byte = static_cast<std::uint8_t>(random());
    const unsigned least = format == Format::nvfp4 ? 1 : 2,
                   count = format == Format::nvfp4 ? 126 : 134;
    for (auto& byte : out.scales) byte = static_cast<std::uint8_t>(least + random() % count);
    return out;
  }
  static LinearWeight view(CheckpointWeight& weight) {
    return {weight.format, Shape{weight.rows, weight.cols}, weight.codes.data(),
            weight.scales.data()};
  }
  // Described, with `bytes` of that size.
  static PackedLinear room_for(const LinearWeight& weight, Octets& bytes,
                               Gated gated = Gated::none) {
    const std::int64_t need = PackedLinear::bytes_for(weight.format, weight.shape).value();
    bytes.assign(static_cast<std::size_t>(need), 0xA5);
    return {.format = weight.format,
            .gated = gated,
            .shape = weight.shape,
            .data = bytes.data(),
            .bytes = need};
  }
  Octets packed(CheckpointWeight& weight, Gated gated = Gated::none) {
    Octets bytes;
    const PackedLinear to = room_for(view(weight), bytes, gated);
    pack_linear(*runtime_, view(weight), to, {nullptr, device_}).value();
    return bytes;
  }
  CheckpointWeight back(const CheckpointWeight& like, Octets bytes, Gated gated = Gated::none) {
    CheckpointWeight out = like;
    std::fill(out.codes.begin(), out.codes.end(), 0x5A);
    std::fill(out.scales.begin(), out.scales.end(), 0x5A);
    Octets sized;
    PackedLinear from = room_for(view(out), sized, gated);
    from.data = bytes.data();
    unpack_linear(*runtime_, from, view(out), device_).value();
    return out;
  }

  const std::shared_ptr<Runtime> runtime_ = test_runtime();
};

}  // namespace diecast::testing
