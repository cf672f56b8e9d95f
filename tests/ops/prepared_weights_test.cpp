// Casts of weights on a fake GPU: what a step launches whatever the number of weights, what it
// clears, and what it never does.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/weight_list.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using weights_test::Model;
using weights_test::RankWeights;

// Rank 0 of two, the other's part in a communicator that only counts.
struct Alone {
  Alone(std::vector<std::pair<std::int64_t, std::int64_t>> shapes, std::int64_t begin,
        std::int64_t end)
      : device(machine.cuda.device()), runtime(machine.runtime()) {
    const Model model = Model::random(shapes, 1, false);
    weights_test::Bounds bounds;
    for (const auto& [rows, cols] : shapes) {
      bounds.push_back({0, begin, std::min(end, rows * cols), rows * cols});
    }
    own = std::make_unique<RankWeights>(device, model, bounds, 1);
    shards = own->shards;
    options.device = device;
    options.gather = false;
  }
  Result<PreparedMasterCast> prepare(Communicator* communicator = nullptr) {
    return PreparedMasterCast::prepare(*runtime, own->weights, own->shards, own->starts,
                                       communicator, options);
  }
  std::vector<std::string> launched() const {
    std::vector<std::string> symbols;
    for (const auto& launch : machine.cuda->launches) symbols.push_back(launch.symbol);
    return symbols;
  }
  FakeMachine machine;
  std::shared_ptr<Device> device;
  std::shared_ptr<Runtime> runtime;
  std::unique_ptr<RankWeights> own;
  std::vector<Tensor> shards;
  MasterCastOptions options;
};

TEST(PreparedMasterCast, LaunchesThreeKernelsForAnyNumberOfWeights) {
  for (const std::size_t count : {1, 560}) {
    Alone alone({count, {16, 32}}, 0, 256);
    const auto cast = alone.prepare().value();
    variants::DeviceBuffer scratch(*alone.device, static_cast<std::size_t>(cast.scratch_bytes()));
    alone.machine.cuda->calls.clear();
    cast.run(scratch.data_pointer(), {}).value();
    EXPECT_EQ(alone.launched(),
              (std::vector<std::string>{"partial_amax", "fused_scale", "partial_cast"}));
    EXPECT_EQ(alone.machine.cuda->count("cuMemsetD8Async"), 1);
    EXPECT_EQ(alone.machine.cuda->count("cuMemAlloc"), 0);
    EXPECT_EQ(alone.machine.cuda->count("cuStreamSynchronize"), 0);
  }
}

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
  alone.own->weights[1].row_scaled = true;
  EXPECT_EQ(message(alone),
            "diecast: not_supported: cast_master_weights_to_nvfp4: weight 1: it is row-scaled (one "
            "amax a row), which cast_master_weights_to_nvfp4 does not take\n"
            "  fix: quantize weight 1 with one amax for the whole tensor");
  alone.own->weights[1].row_scaled = false;
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
  storage.shape = {16, 16};
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
