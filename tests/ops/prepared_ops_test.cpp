// Ops on a fake GPU: what they launch, in which order and with which bytes; what preparing does and
// what running never does; what they refuse.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using testing::Matrices;

// A fake cubin does not say what its kernels' parameters are: pointers x, amax, codes and scales,
// rows with room for a pointer and a number, cols unless it is fixed, block_amax and rng.
void name_parameters(FakeMachine& machine, bool cols_fixed = false) {
  std::vector<std::size_t> quantize = {8, 8, 8, 8, 16};
  if (!cols_fixed) quantize.push_back(8);
  quantize.insert(quantize.end(), {8, 8});
  machine.cuda->parameters["quantize_nvfp4"] = quantize;
  machine.cuda->parameters["quantize_nvfp4_few"] = std::vector<std::size_t>(cols_fixed ? 5 : 6, 8);
  machine.cuda->parameters["dequantize_nvfp4"] = {8, 8, 8, 8, 16, 8};
  machine.cuda->parameters["zeros"] = {8, 8};
}

std::vector<std::string> launched(FakeMachine& machine) {
  std::vector<std::string> symbols;
  for (const auto& launch : machine.cuda->launches) symbols.push_back(launch.symbol);
  return symbols;
}

TEST(QuantizeNvfp4, ClearsFindsTheAmaxAndQuantizes) {
  FakeMachine machine;
  name_parameters(machine);
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 768, 4096);
  const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, {}).value();
  machine.cuda->calls.clear();
  op.run(m.x, m.out, {}).value();
  ASSERT_EQ(launched(machine), (std::vector<std::string>{"zeros", "amax", "quantize_nvfp4_few"}));
  EXPECT_EQ(machine.cuda->count("cuMemsetD8Async"), 0);
  EXPECT_EQ(machine.cuda->launches[0].argument<float*>(0), m.out.rowwise.amax);
  EXPECT_EQ(machine.cuda->launches[0].argument<std::int64_t>(1), 1);
  const auto& launch = machine.cuda->launches[2];
  EXPECT_EQ(launch.argument<void*>(0), m.x.data);
  EXPECT_EQ(launch.argument<float*>(1), m.out.rowwise.amax);
  EXPECT_EQ(launch.argument<void*>(2), m.out.rowwise.data);
  EXPECT_EQ(launch.argument<void*>(3), m.out.rowwise.scale);
  EXPECT_EQ(launch.argument<std::int64_t>(4), 768);
  EXPECT_EQ(launch.argument<std::int64_t>(5), 4096);
  EXPECT_EQ(launch.grid[1], 110u);  // 768 * 256 blocks of 16, 1792 a thread block
  EXPECT_EQ(launch.block[0], 896u);
}

TEST(QuantizeNvfp4, WithAGivenAmaxIsOneLaunch) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 8, 64);
  quantize_nvfp4(*runtime, m.x, m.out, {true, device}).value();
  EXPECT_EQ(launched(machine), std::vector<std::string>{"quantize_nvfp4_few"});
  EXPECT_EQ(machine.cuda->count("cuMemsetD8Async"), 0);
}

TEST(QuantizeNvfp4, RowScaledIsOneLaunchOfItsOwnKernel) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 8, 64, true);
  quantize_nvfp4(*runtime, m.x, m.out, {false, device}).value();
  EXPECT_EQ(launched(machine), std::vector<std::string>{"quantize_nvfp4_row_scaled"});
}

TEST(QuantizeNvfp4, AFixedRowLengthIsNoKernelParameter) {
  FakeMachine machine;
  name_parameters(machine, true);
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  Matrices m(*device, 768, 4096);
  m.out.type.layout = ScaleLayout::s128x4;
  m.out.rowwise.scale_bytes = m.out.rowwise_sizes().value().scale_bytes;
  PreparedQuantizeNvfp4::Request request;
  request.cols = 4096;
  request.out.layout = ScaleLayout::s128x4;
  request.amax_given = true;
  const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  op.run(m.x, m.out, {}).value();
  EXPECT_EQ(machine.cuda->launches[0].arguments.size(), 5u);
}

TEST(QuantizeNvfp4, RowsOfAnotherLengthThanItsOwnAreRefused) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices other(*device, 8, 64);
  for (const bool amax_given : {false, true}) {
    PreparedQuantizeNvfp4::Request request;
    request.cols = 4096;
    request.amax_given = amax_given;
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
    const auto refused = op.run(other.x, other.out, {});
    EXPECT_EQ(refused.error().code, ErrorCode::shape_mismatch);
    EXPECT_NE(refused.error().message().find("cols = 0"), std::string::npos);
  }
}

TEST(QuantizeNvfp4, RowCountsInDeviceMemoryAreNeverRead) {
  FakeMachine machine;
  name_parameters(machine);
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  Matrices m(*device, 512, 64);
  m.x.device_rows = static_cast<std::int64_t*>(device->allocate(8).value());
  quantize_nvfp4(*runtime, m.x, m.out, {true, device}).value();
  const auto& launch = machine.cuda->launches[0];
  std::int64_t words[2];
  std::memcpy(words, launch.arguments.at(4).data(), sizeof words);
  EXPECT_EQ(reinterpret_cast<const std::int64_t*>(words[0]), m.x.device_rows);
  EXPECT_EQ(words[1], 512);
  EXPECT_EQ(launch.grid[0], 16u);  // for the upper bound
  EXPECT_EQ(machine.cuda->count("cuMemcpyDtoHAsync"), 0);
}

TEST(QuantizeNvfp4, TheConvenienceCallPreparesOnce) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 8, 64), n(*device, 9, 80);
  quantize_nvfp4(*runtime, m.x, m.out, {false, device}).value();
  runtime->freeze();
  quantize_nvfp4(*runtime, n.x, n.out, {false, device}).value();  // another shape, nothing new
  EXPECT_EQ(machine.nvrtc.compiles().size(), 16u);  // zeros, amax, and fourteen that quantize
  EXPECT_EQ(runtime->counters().loaded, 16u);
}

TEST(QuantizeNvfp4, WhileCapturingNothingIsPrepared) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 8, 64);
  const Stream stream = device->create_stream().value();
  machine.cuda.begin_capture(stream);
  EXPECT_EQ(
      quantize_nvfp4(*runtime, m.x, m.out, {false, device}, stream).error().message(),
      "diecast: not_resident: quantize_nvfp4 is not prepared, and the stream is being captured\n"
      "  fix: prepare it, or call it once with the same options, before the capture begins");
  EXPECT_TRUE(machine.cuda.end_capture(stream));
  EXPECT_TRUE(machine.nvrtc.compiles().empty());

  quantize_nvfp4(*runtime, m.x, m.out, {false, device}, stream).value();
  machine.cuda.begin_capture(stream);
  quantize_nvfp4(*runtime, m.x, m.out, {false, device}, stream).value();
  EXPECT_TRUE(machine.cuda.end_capture(stream));
  EXPECT_TRUE(machine.cuda->launches.back().captured);
  EXPECT_EQ(machine.cuda->violations, std::vector<std::string>{});
}

TEST(QuantizeNvfp4, RefusesByNameWhatItDoesNotWrite) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  Matrices m(*device, 8, 64);
  const auto code = [&](const Tensor& x, const QuantizedTensor& out,
                        QuantizeNvfp4Options options = {}) {
    options.device = device;
    const auto done = quantize_nvfp4(*runtime, x, out, options);
    return done ? std::string("ok") : std::string(code_word(done.error().code));
  };
  QuantizedTensor out = m.out;
  out.type.format = Format::mxfp4;
  EXPECT_EQ(code(m.x, out), "not_supported");
  out = m.out;
  out.shape = Shape{4, 128};
  EXPECT_EQ(code(m.x, out), "shape_mismatch");
  Tensor x = m.x;
  x.dtype = DType::e5m2;
  EXPECT_EQ(code(x, m.out), "dtype_mismatch");
  EXPECT_EQ(quantize_nvfp4(*runtime, x, m.out, {.device = device}).error().message(),
            "diecast: dtype_mismatch: quantize_nvfp4: x is e5m2\n"
            "  fix: give x as one of bf16, f16, f32, e4m3");
  EXPECT_TRUE(machine.cuda->launches.empty());
}

TEST(QuantizeNvfp4, PreparedForOneTypeRefusesAnother) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  Matrices m(*device, 8, 64);
  const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, {.amax_given = true}).value();
  EXPECT_TRUE(op.run(m.x, m.out, {}));
  m.x.dtype = DType::f16;
  EXPECT_EQ(op.run(m.x, m.out, {}).error().message(),
            "diecast: dtype_mismatch: quantize_nvfp4: x is f16, prepared for bf16\n"
            "  fix: pass x as bf16, or prepare another op for this input");
}

TEST(DequantizeNvfp4, PassesCodesScalesAndFactor) {
  FakeMachine machine;
  name_parameters(machine);
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 8, 64, true);
  dequantize_nvfp4(*runtime, m.out, m.x, {GlobalForm::decode, device}).value();
  ASSERT_EQ(launched(machine), std::vector<std::string>{"dequantize_nvfp4"});
  const auto& launch = machine.cuda->launches[0];
  EXPECT_EQ(launch.argument<void*>(0), m.out.rowwise.data);
  EXPECT_EQ(launch.argument<void*>(1), m.out.rowwise.scale);
  EXPECT_EQ(launch.argument<float*>(2), m.out.rowwise.amax);
  EXPECT_EQ(launch.argument<void*>(3), m.x.data);
}

TEST(Amax, AccumulatesOverSeveralTensorsWithoutZeros) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 8, 64);
  amax(*runtime, m.x, m.out.rowwise.amax, {AmaxPer::tensor, false, device}).value();
  amax(*runtime, m.x, m.out.rowwise.amax, {AmaxPer::tensor, true, device}).value();
  EXPECT_EQ(launched(machine), (std::vector<std::string>{"zeros", "amax", "amax"}));
}

TEST(Amax, OfNothingIsZero) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const Matrices m(*device, 0, 64);
  auto* result = static_cast<float*>(device->allocate(4).value());
  amax(*runtime, m.x, result, {AmaxPer::tensor, false, device}).value();
  EXPECT_EQ(launched(machine), std::vector<std::string>{"zeros"});
}

}  // namespace
}  // namespace diecast
