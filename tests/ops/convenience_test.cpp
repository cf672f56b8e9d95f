// The convenience call's prepared ops: which one a call finds, and where it must not find one.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class Convenience : public ::testing::Test {
 protected:
  Convenience() { machine_.cuda->gpus.resize(2); }

  // Operands in memory that only addresses are taken of.
  static Tensor matrix(std::int64_t rows, std::int64_t cols, DType dtype = DType::bf16) {
    return {reinterpret_cast<void*>(0x10000), dtype, Shape{rows, cols}, 0, nullptr};
  }
  static QuantizedTensor quantized(const Tensor& x, bool row_scaled = false) {
    QuantizedTensor out;
    out.shape = x.shape;
    out.type.row_scaled = row_scaled;
    out.rowwise = out.rowwise_sizes().value();
    out.rowwise.data = reinterpret_cast<void*>(0x20000);
    out.rowwise.scale = reinterpret_cast<void*>(0x30000);
    out.rowwise.amax = reinterpret_cast<float*>(0x40000);
    return out;
  }
  static QuantizeNvfp4Options given(bool amax_given = true) {
    QuantizeNvfp4Options options;
    options.amax_given = amax_given;
    return options;
  }
  std::string call(Runtime& runtime, const std::shared_ptr<Device>& device, const Tensor& x,
                   const QuantizedTensor& out, QuantizeNvfp4Options options = given()) {
    options.device = device;
    const auto done = quantize_nvfp4(runtime, x, out, options);
    return done ? "ok" : done.error().message();
  }
  std::size_t compiles() { return machine_.nvrtc.compiles().size(); }
  const testing::FakeLaunch& last() { return machine_.cuda->launches.back(); }

  testing::FakeMachine machine_;
  const std::shared_ptr<Device> device_ = machine_.cuda.device();
  const Tensor x_ = matrix(8, 4096);
  static constexpr std::size_t kKernels = 11;  // one for any matrix, and ten without a loop
};

TEST_F(Convenience, AnotherOptionIsAnotherOpAndTheFirstIsFoundAgain) {
  const auto runtime = machine_.runtime();
  const QuantizedTensor out = quantized(x_);
  QuantizedTensor tiled = out;
  tiled.type.layout = ScaleLayout::s128x4;
  tiled.rowwise.scale_bytes = tiled.rowwise_sizes().value().scale_bytes;
  QuantizeNvfp4Options encode = given(), mae = encode, rht = encode, stochastic = encode;
  encode.global = GlobalScale::encode;
  mae.four_over_six = FourOverSix::mae;
  rht.rht = TransformedSides::rowwise;
  stochastic.rng_state = reinterpret_cast<const std::int64_t*>(0x50000);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
    EXPECT_EQ(call(*runtime, device_, x_, out, encode), "ok");
    EXPECT_EQ(call(*runtime, device_, x_, out, mae), "ok");
    EXPECT_EQ(call(*runtime, device_, x_, out, rht), "ok");
    EXPECT_EQ(call(*runtime, device_, x_, out, stochastic), "ok");
    EXPECT_EQ(call(*runtime, device_, x_, tiled), "ok");
    EXPECT_EQ(last().grid[0], 256u);  // 128 padded rows of 256 blocks, 128 a thread block
    EXPECT_EQ(call(*runtime, device_, matrix(8, 4096, DType::f32), out), "ok");
    EXPECT_EQ(call(*runtime, device_, matrix(8, 4090), quantized(matrix(8, 4090))), "ok");
    EXPECT_EQ(compiles(), 28u) << round;  // one each, and ten without a loop of the plain two
    EXPECT_EQ(runtime->counters().loaded, 28u);
  }
  EXPECT_EQ(machine_.cuda->launches.size(), 16u);
}

TEST_F(Convenience, AmaxFoundAndAmaxGivenAreToldApart) {
  const auto runtime = machine_.runtime();
  const QuantizedTensor out = quantized(x_);
  for (const bool is_given : {true, false, true, false})
    EXPECT_EQ(call(*runtime, device_, x_, out, given(is_given)), "ok");
  std::string symbols;
  for (const auto& launch : machine_.cuda->launches) symbols += launch.symbol + ' ';
  EXPECT_EQ(symbols,
            "quantize_nvfp4_few quantize_nvfp4_amax_few "
            "quantize_nvfp4_few quantize_nvfp4_amax_few ");
}

TEST_F(Convenience, ANewRuntimePreparesAgain) {
  const QuantizedTensor out = quantized(x_);
  for (std::size_t i = 1; i <= 3; ++i) {
    const auto runtime = machine_.runtime();
    EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
    EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
    EXPECT_EQ(runtime->counters().loaded, kKernels);
    EXPECT_EQ(machine_.cuda->launches.size(), 2 * i);
  }
  EXPECT_EQ(compiles(), kKernels);
}

TEST_F(Convenience, EachDeviceHasItsOwn) {
  const auto runtime = machine_.runtime();
  const auto second = machine_.cuda.device(1);
  const QuantizedTensor out = quantized(x_);
  EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
  const std::uint64_t first_context = last().context;
  EXPECT_EQ(call(*runtime, second, x_, out), "ok");
  EXPECT_NE(last().context, first_context);
  EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
  EXPECT_EQ(last().context, first_context);
  EXPECT_EQ(runtime->counters().loaded, 2 * kKernels);
  EXPECT_EQ(machine_.cuda->violations, std::vector<std::string>{});
}

TEST_F(Convenience, InAContextThatItWasNotPreparedInItSaysSo) {
  const auto runtime = machine_.runtime();
  const QuantizedTensor out = quantized(x_);
  (void)machine_.cuda.create_context(0);
  EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
  (void)machine_.cuda.create_context(0);
  const std::string refused = call(*runtime, device_, x_, out);
  EXPECT_TRUE(refused.starts_with("diecast: not_resident: quantize_nvfp4_few COLS=0 ")) << refused;
  EXPECT_TRUE(refused.ends_with(
      " is not resident on device 0 (Fake GPU) in the current context; a launch loads nothing\n"
      "  fix: prepare quantize_nvfp4 in this context before the first launch (and before "
      "freeze())"))
      << refused;
  EXPECT_EQ(machine_.cuda->launches.size(), 1u);
  const auto request = PreparedQuantizeNvfp4::Request::of(x_, out, given());
  ASSERT_TRUE(PreparedQuantizeNvfp4::prepare(*runtime, device_, request));
  EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
}

TEST_F(Convenience, AfterFreezeWhatIsPreparedGoesOnAndNothingNewIs) {
  const auto runtime = machine_.runtime();
  const QuantizedTensor out = quantized(x_);
  EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
  runtime->freeze();
  EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
  const std::string refused = call(*runtime, device_, matrix(8, 4096, DType::f16), out);
  EXPECT_TRUE(refused.starts_with("diecast: frozen: after freeze() a kernel is not resolved:\n"))
      << refused;
  EXPECT_EQ(call(*runtime, device_, x_, out), "ok");
  EXPECT_EQ(machine_.cuda->launches.size(), 3u);
}

TEST_F(Convenience, ADeviceThatIsGoneIsNeverTakenForANewOne) {
  const auto runtime = machine_.runtime();
  const QuantizedTensor out = quantized(x_);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(call(*runtime, machine_.cuda.device(static_cast<int>(i % 2)), x_, out), "ok");
    // The runtime's ops keep the earlier ones alive.
    EXPECT_EQ(runtime->counters().loaded, i * kKernels);
  }
}

TEST_F(Convenience, ThreadsThatComeFirstTogetherAllLaunch) {
  constexpr unsigned kThreads = 8, kCalls = 200;
  const auto runtime = machine_.runtime();
  std::atomic<unsigned> failed = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const Tensor x = matrix(8, 16 * (1 + i % 2));
      const QuantizedTensor out = quantized(x, i % 4 < 2);
      for (unsigned n = 0; n < kCalls; ++n) failed += call(*runtime, device_, x, out) != "ok";
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(machine_.cuda->launches.size(), kThreads * kCalls);
  EXPECT_EQ(compiles(), kKernels + 1);
}

}  // namespace
}  // namespace diecast
