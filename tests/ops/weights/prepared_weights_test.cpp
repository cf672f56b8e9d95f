// Casts of weights on a fake GPU: in a capture, what they refuse, and Megatron's names.
#include "ops/weights_on_fake_gpu.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using weights_test::Alone;

TEST(PreparedMasterCast, RunsInACapture) {
  Alone alone({{16, 32}, {20, 7}}, 3, 100);
  const auto cast = alone.prepare().value();
  variants::DeviceBuffer scratch(*alone.device, static_cast<std::size_t>(cast.scratch_bytes()));
  const Stream stream = alone.device->create_stream().value();
  alone.machine.cuda.begin_capture(stream);
  cast.run(scratch.data_pointer(), stream).value();
  EXPECT_TRUE(alone.machine.cuda.end_capture(stream));
  EXPECT_EQ(alone.machine.cuda->violations, std::vector<std::string>{});
}

TEST(PreparedMasterCast, NeedsItsScratch) {
  Alone alone({{16, 32}}, 0, 512);
  const auto cast = alone.prepare().value();
  EXPECT_EQ(cast.scratch_bytes(), (4 + 4) * 4 + 1);
  EXPECT_EQ(cast.run(nullptr, {}).error().message(),
            "diecast: missing_buffer: cast_master_weights_to_nvfp4: the scratch is null\n"
            "  fix: pass 33 bytes of device memory");
  variants::DeviceBuffer scratch(*alone.device, 64);
  EXPECT_EQ(
      cast.run(scratch.data_pointer() + 8, {}).error().message(),
      "diecast: misaligned: cast_master_weights_to_nvfp4: the scratch is not at a multiple of "
      "16 bytes\n  fix: pass 33 bytes of device memory");
  EXPECT_TRUE(alone.machine.cuda->launches.empty());
}

TEST(PreparedMasterCast, RefusesBeforeAnyKernelRuns) {
  const auto message = [](Alone& alone) {
    const auto prepared = alone.prepare();
    EXPECT_TRUE(alone.machine.cuda->launches.empty());
    return prepared ? "ok" : prepared.error().message();
  };
  Alone alone({{16, 32}, {16, 32}}, 8, 100);
  EXPECT_EQ(message(alone), "ok");
  alone.own->weights[1].shape = {4, 4, 32};
  EXPECT_EQ(message(alone),
            "diecast: shape_mismatch: weight 1 has shape [4, 4, 32]\n"
            "  fix: weights have two dimensions");
  alone.own->weights[1].shape = {16, 32};
  alone.own->weights[1].type.row_scaled = true;
  EXPECT_EQ(message(alone),
            "diecast: not_supported: cast_master_weights_to_nvfp4: weight 1: it is row-scaled (one "
            "amax a row), which cast_master_weights_to_nvfp4 does not take\n"
            "  fix: quantize weight 1 with one amax for the whole tensor");
  alone.own->weights[1].type.row_scaled = false;
  alone.own->starts[1] = 421;
  EXPECT_EQ(message(alone),
            "diecast: invalid_argument: weight 1: the shard of 92 elements from 421 on is outside "
            "[16, 32] with 512\n  fix: 0 <= start offset, and start offset + elements <= 512");
  alone.own->starts[1] = 8;
  alone.own->shards[1].dtype = DType::f16;
  EXPECT_EQ(message(alone),
            "diecast: dtype_mismatch: weight 1: the master shard is f16\n"
            "  fix: master shards are f32 or bf16");
  alone.own->shards[1].dtype = DType::f32;
  alone.own->weights[0].rowwise.scale = nullptr;
  EXPECT_EQ(message(alone),
            "diecast: missing_buffer: cast_master_weights_to_nvfp4: weight 0: the rowwise scale "
            "buffer is null\n  fix: pass a buffer of 32 bytes");
}

TEST(PreparedMasterCast, RefusesOptionsThatMeanNothingHere) {
  Alone alone({{16, 32}}, 8, 100);
  alone.options.manual_post_all_gather_processing = false;
  EXPECT_EQ(
      alone.prepare().error().message(),
      "diecast: not_supported: cast_master_weights_to_nvfp4: "
      "manual_post_all_gather_processing is false, but NVFP4 has no automatic processing after "
      "the gather\n  fix: leave it true and call post_all_gather_processing once the weights "
      "are whole");
  alone.options.manual_post_all_gather_processing = true;
  alone.options.group_size = 8;
  EXPECT_EQ(alone.prepare().error().message(),
            "diecast: invalid_argument: cast_master_weights_to_nvfp4: the group has 1 ranks, the "
            "caller expects 8\n  fix: pass the communicator of the group that the weights are "
            "sharded over");
  alone.options.group_size = 1;
  alone.options.gather = true;
  EXPECT_EQ(alone.prepare().error().message(),
            "diecast: invalid_argument: weight 0: elements 0 to 8 belong to no rank\n"
            "  fix: give every element of a weight to one rank, or set gather = false");
  EXPECT_TRUE(MasterCastOptions{}.manual_post_all_gather_processing);  // unless it is said
  void* const fragment = alone.own->weights[0].rowwise.data;
  alone.options.fragments = {&fragment, 1};
  EXPECT_EQ(alone.prepare().error().code, ErrorCode::not_supported);
}

TEST(PostAllGather, IsTwoLaunchesForAnyNumberOfWeights) {
  for (const std::size_t count : {1, 100}) {
    Alone alone({count, {16, 32}}, 0, 512);
    const auto post =
        PreparedPostAllGather::prepare(*alone.runtime, alone.own->weights, {false, alone.device})
            .value();
    post.run({}).value();
    EXPECT_EQ(alone.launched(),
              (std::vector<std::string>{"transpose_weight_codes", "transpose_weight_scales"}));
  }
  Alone alone({{16, 32}}, 0, 512);
  alone.own->weights[0].columnwise = {};
  EXPECT_EQ(post_all_gather_processing(*alone.runtime, alone.own->weights, {false, alone.device})
                .error()
                .message(),
            "diecast: missing_buffer: weight 0 has no columnwise buffers\n"
            "  fix: set data, scale and amax of both directions");
}

TEST(PostAllGather, TakesWholeWeightsOfOneLayout) {
  Alone alone({{16, 32}, {16, 32}}, 0, 512);
  const auto message = [&](const std::function<void(QuantizedTensor&)>& change,
                           bool padded = false) {
    auto weights = alone.own->weights;
    change(weights[1]);
    const auto done = post_all_gather_processing(*alone.runtime, weights, {padded, alone.device});
    EXPECT_EQ(alone.launched(), std::vector<std::string>{});
    return done ? "ok" : done.error().message();
  };
  EXPECT_EQ(message([](QuantizedTensor& weight) {
              weight.shape = {1, 16, 32};
            }),
            "diecast: shape_mismatch: weight 1 has shape [1, 16, 32]\n"
            "  fix: weights have two dimensions");
  EXPECT_EQ(message([](QuantizedTensor& weight) {
              auto& data = weight.columnwise.data;
              data = static_cast<std::uint8_t*>(data) + 2;
            }),
            "diecast: misaligned: weight 1: its columnwise data is not at a multiple of 4 bytes\n"
            "  fix: align data to 4 bytes");
  EXPECT_EQ(message([](QuantizedTensor& weight) {
              weight.type.layout = ScaleLayout::s8x4;
              weight.rowwise.scale_bytes = weight.columnwise.scale_bytes = 512;
            }),
            "diecast: not_supported: weight 1 has s8x4 scales, weight 0 linear\n"
            "  fix: process weights of different scale layouts in calls of their own");
  EXPECT_EQ(message([](QuantizedTensor&) {}, true),
            "diecast: shape_mismatch: weight 0: the scale buffer has 32 bytes, padded scales need "
            "512\n  fix: allocate 512 bytes, or set padded_scales = false");
}

TEST(Megatron, MovesAWeightsBytesOrLeavesItAsItWas) {
  Alone alone({{16, 32}}, 0, 512);
  QuantizedTensor weight = alone.own->weights[0];
  std::vector<std::uint8_t> codes(256), moved(256);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
  alone.device->copy_to_device(weight.rowwise.data, codes.data(), 256, {}).value();
  variants::DeviceBuffer buffer(*alone.device, 256);
  Tensor storage{buffer.data_pointer(), DType::f32, Shape{64}};
  void* const before = weight.rowwise.data;
  EXPECT_EQ(modify_nvfp4_rowwise_storage(*alone.device, weight, storage).error().code,
            ErrorCode::dtype_mismatch);
  storage = {buffer.data_pointer(), DType::u8, Shape{255}};
  EXPECT_EQ(
      modify_nvfp4_rowwise_storage(*alone.device, weight, storage).error().message(),
      "diecast: shape_mismatch: the storage is [255] with 255 bytes, a weight [16, 32] has 256\n"
      "  fix: pass a dense view of 256 bytes");
  storage = {buffer.data_pointer(), DType::u8, Shape{16, 16}, 17};
  EXPECT_EQ(modify_nvfp4_rowwise_storage(*alone.device, weight, storage).error().code,
            ErrorCode::shape_mismatch);
  storage.row_stride = 0;
  weight.rowwise.data = nullptr;
  EXPECT_EQ(modify_nvfp4_rowwise_storage(*alone.device, weight, storage).error().message(),
            "diecast: missing_buffer: the weight has no rowwise data to move\n"
            "  fix: set rowwise.data yourself: there is nothing to copy");
  weight.rowwise.data = before;
  weight.type.format = Format::mxfp4;
  EXPECT_EQ(modify_nvfp4_rowwise_storage(*alone.device, weight, storage).error().message(),
            "diecast: not_supported: the weight is mxfp4\n  fix: pass a weight in NVFP4");
  weight.type.format = Format::nvfp4;
  alone.machine.cuda->fail["cuMemcpyDtoDAsync"][1] = 1;
  EXPECT_EQ(modify_nvfp4_rowwise_storage(*alone.device, weight, storage).error().code,
            ErrorCode::driver_error);
  EXPECT_EQ(weight.rowwise.data, before);
  alone.machine.cuda->fail.clear();
  modify_nvfp4_rowwise_storage(*alone.device, weight, storage).value();
  EXPECT_EQ(weight.rowwise.data, buffer.data_pointer());
  EXPECT_EQ(buffer.bytes(), codes);
}

TEST(Megatron, QuantizesNoParametersWithoutAsking) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  quantize_nvfp4_param_shard(*runtime, {}, {}, {}, nullptr).value();
  EXPECT_TRUE(machine.cuda->calls.empty());
}

}  // namespace
}  // namespace diecast
