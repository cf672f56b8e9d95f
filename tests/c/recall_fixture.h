// What tests of recalled calls share: matrices at addresses of their own, and calls of
// quantize_nvfp4 that are like a thread's last one, or a first one.
#pragma once

#include <cmath>
#include <functional>
#include <thread>

#include "c/c_fixture.h"

namespace diecast::testing {

inline constexpr std::int64_t kRows = 3, kCols = 64;

// A matrix and memory for what becomes of it, at addresses of its own.
struct Memory {
  explicit Memory(float seed) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = std::sin(seed * static_cast<float>(i + 1));
  }
  std::vector<float> x_ = std::vector<float>(2 * kRows * kCols), amax_ = {0},
                     back_ = std::vector<float>(kRows * kCols);
  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(kRows * kCols, 0xAA);
  std::vector<std::uint8_t> scale_ = std::vector<std::uint8_t>(kRows * kCols / 16, 0xAA);
  CTensor x{x_, {kRows, kCols}}, amax{amax_, {1}}, back{back_, {kRows, kCols}};
  CTensor data{data_, {kRows, kCols / 2}}, scale{scale_, {kRows, kCols / 16}};

  diecast_quantize_nvfp4_tensors tensors() {
    diecast_quantize_nvfp4_tensors of{};
    of.size = sizeof of;
    of.x = x.get(), of.out_amax = amax.get();
    of.out_data = data.get(), of.out_scale = scale.get();
    return of;
  }
  bool same_as(const Memory& other) const {
    return data_ == other.data_ && scale_ == other.scale_ && amax_ == other.amax_ &&
           back_ == other.back_;
  }
};

class CRecall : public COnHost {
 protected:
  using Call = std::function<int(Memory&)>;
  static int found(diecast_handle runtime, diecast_handle device, Memory& memory) {
    const auto tensors = memory.tensors();
    const auto options = diecast_quantize_nvfp4_defaults();
    return diecast_op_call(runtime, device, diecast_op_quantize_nvfp4, &tensors, &options, nullptr,
                           1);
  }
  // In a thread that keeps nothing yet.
  static int first(const Call& call, Memory& memory) {
    int code = 0;
    std::thread([&] { code = call(memory); }).join();
    return code;
  }
  // What calls on one memory after another make is what first calls make.
  void expect_same(const Call& call) {
    for (const float seed : {0.1F, 0.2F, 0.3F, 0.4F}) {
      Memory again(seed), alone(seed);
      ASSERT_EQ(call(again), diecast_ok) << last_error();
      ASSERT_EQ(first(call, alone), diecast_ok);
      EXPECT_TRUE(again.same_as(alone)) << seed;
    }
  }
  int quantize(Memory& memory, const diecast_quantize_nvfp4_options& options) {
    const auto tensors = memory.tensors();
    return diecast_quantize_nvfp4(runtime_, host_, &tensors, &options, nullptr);
  }
  int quantize(Memory& memory) { return quantize(memory, options_); }
  // So that the next call is like the last one.
  void repeat(Memory& memory) {
    for (int i = 0; i < 3; ++i) ASSERT_EQ(quantize(memory), diecast_ok) << last_error();
  }

  diecast_quantize_nvfp4_options options_ = diecast_quantize_nvfp4_defaults();
};

}  // namespace diecast::testing
