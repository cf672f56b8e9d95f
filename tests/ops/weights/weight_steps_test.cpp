// Steps of casts of weights on a fake GPU: what one launches whatever the number of weights, what
// it clears, what it never does, and memory that is not there.
#include <diecast/base/text.h>

#include "fake/nccl_script.h"
#include "ops/weights_on_fake_gpu.h"

namespace diecast {
namespace {

using weights_test::Alone;
using weights_test::TwoRanks;

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

// Of everything a step can have: shards that begin inside a byte, gathering, the columnwise side.
TEST(PreparedMasterCast, AStepIsSixLaunchesForAnyNumberOfWeights) {
  for (const std::size_t count : {1, 7, 560}) {
    Alone alone({count, {16, 32}}, 0, 101);
    alone.options.gather = true;
    TwoRanks group(alone);
    const auto cast = alone.prepare(group.communicator.get()).value();
    const auto post =
        PreparedPostAllGather::prepare(*alone.runtime, alone.own->weights, {false, alone.device})
            .value();
    variants::DeviceBuffer scratch(*alone.device, static_cast<std::size_t>(cast.scratch_bytes()));
    EXPECT_EQ(group.gathered, 2);  // plans and shards
    alone.machine.cuda->calls.clear();
    cast.run(scratch.data_pointer(), {}).value();
    post.run({}).value();
    EXPECT_EQ(
        alone.launched(),
        (std::vector<std::string>{"partial_amax", "fused_scale", "partial_cast", "merge_edge_codes",
                                  "transpose_weight_codes", "transpose_weight_scales"}));
    EXPECT_EQ(group.reduced, 1);
    EXPECT_EQ(group.gathered, 2 + 1 + static_cast<int>(count));  // first codes, and the codes
    EXPECT_EQ(alone.machine.cuda->count("cuMemsetD8Async"), 1);
    EXPECT_EQ(alone.machine.cuda->count("cuMemAlloc"), 0);
    EXPECT_EQ(alone.machine.cuda->count("cuStreamSynchronize"), 0);
  }
}

// NCCL's calls, in order, where a byte of both weights is of two ranks.
TEST(PreparedMasterCast, SpeaksThroughNccl) {
  testing::FakeNccl nccl;
  nccl->size = 2;
  const std::vector<ShardRange> others = {{101, 512}, {101, 320}};
  int from_other = 0;
  nccl->on_call = [&](const testing::NcclCall& call) {
    if (call.root != 1) return;
    const auto* own = static_cast<std::uint8_t*>(call.receive) - call.count;
    if (from_other == 0) std::memcpy(call.receive, own, call.count);
    if (from_other == 1) std::memcpy(call.receive, others.data(), call.count);
    ++from_other;
  };
  Alone alone({{16, 32}, {16, 20}}, 0, 101);
  alone.options.gather = true;
  const auto group =
      nccl_communicator(reinterpret_cast<void*>(0x100), testing::FakeNccl::path()).value();
  const auto cast = alone.prepare(group.get()).value();
  nccl->calls.clear();
  variants::DeviceBuffer scratch(*alone.device, static_cast<std::size_t>(cast.scratch_bytes()));
  const Stream stream = alone.device->create_stream().value();
  cast.run(scratch.data_pointer(), stream).value();
  std::vector<std::string> said;
  for (const testing::NcclCall& call : nccl->calls) {
    said.push_back(call.function);
    if (call.receive == nullptr) continue;
    EXPECT_EQ(call.stream, stream.handle);
    said.back() += cat(" ", call.count);
    if (call.root >= 0) said.back() += cat(" from ", call.root);
  }
  EXPECT_EQ(said, (std::vector<std::string>{
                      "ncclAllReduce 12", "ncclGroupStart", "ncclBroadcast 2 from 0",
                      "ncclBroadcast 2 from 1", "ncclGroupEnd", "ncclGroupStart",
                      "ncclBroadcast 51 from 0", "ncclBroadcast 205 from 1",
                      "ncclBroadcast 81 from 0", "ncclBroadcast 175 from 1", "ncclGroupEnd"}));
}

TEST(PreparedMasterCast, OfMxfp8IsThreeLaunches) {
  for (const std::size_t count : {1, 100}) {
    Alone alone({count, {16, 32}}, 0, 101);
    for (QuantizedTensor& weight : alone.own->weights) {
      weight.type.format = Format::mxfp8_e4m3;
      weight.type.square = 1 != 1;
      for (QuantizedSide* side : {&weight.rowwise, &weight.columnwise}) {
        side->data_bytes = side->scale_bytes = 512;  // no kernel runs that would write them
        side->amax = nullptr;
        side->amax_count = 0;
      }
    }
    alone.options.gather = true;
    TwoRanks group(alone);
    const auto cast = alone.prepare(group.communicator.get()).value();
    variants::DeviceBuffer scratch(*alone.device, static_cast<std::size_t>(cast.scratch_bytes()));
    cast.run(scratch.data_pointer(), {}).value();
    EXPECT_EQ(alone.launched(),
              (std::vector<std::string>{"mx_partial_amax", "mx_fused_scale", "mx_partial_cast"}));
    EXPECT_EQ(group.gathered, 2 + 2 * static_cast<int>(count));  // both directions
  }
}

// Only what maxima meet in is cleared: amaxes, and tiles in rows of tiles that the shards have no
// part of. Kernels do nothing here, so what else is not poison was cleared.
TEST(PreparedMasterCast, ClearsNoBufferThatIsWhollyWritten) {
  const struct {
    std::int64_t end, cleared;
  } cases[] = {{17 * 32, 4 * 4}, {16 * 32, (4 + 4 + 4) * 4}};
  for (const auto& [end, cleared] : cases) {
    Alone alone({{17, 32}, {17, 32}}, 0, end);
    const auto cast = alone.prepare().value();
    variants::DeviceBuffer scratch(*alone.device, static_cast<std::size_t>(cast.scratch_bytes()));
    cast.run(scratch.data_pointer(), {}).value();
    std::vector<std::uint8_t> want(static_cast<std::size_t>(cast.scratch_bytes()),
                                   variants::DeviceBuffer::kPoison);
    std::fill_n(want.begin(), cleared, std::uint8_t{0});
    EXPECT_EQ(scratch.bytes(), want) << end;
    EXPECT_TRUE(alone.own->is_untouched());
  }
}

// Memory is allocated before the ranks agree, so that one that has none tells the others; but for
// what they tell each other in, which is the first.
TEST(PreparedMasterCast, ARankWithoutMemoryTellsTheOthers) {
  Alone alone({{16, 32}, {16, 32}}, 0, 101);
  const int allocations = [&] {
    TwoRanks group(alone);
    const int before = alone.machine.cuda->count("cuMemAlloc");
    alone.options.gather = true;
    cast_master_weights_to_nvfp4(*alone.runtime, alone.own->weights, alone.shards,
                                 alone.own->starts, group.communicator.get(), alone.options)
        .value();
    return alone.machine.cuda->count("cuMemAlloc") - before;
  }();
  alone.machine.cuda->launches.clear();
  for (int nth = 1; nth <= allocations; ++nth) {
    TwoRanks group(alone);
    alone.machine.cuda->fail["cuMemAlloc"] = {{alone.machine.cuda->count("cuMemAlloc") + nth, 2}};
    const auto failed =
        cast_master_weights_to_nvfp4(*alone.runtime, alone.own->weights, alone.shards,
                                     alone.own->starts, group.communicator.get(), alone.options);
    ASSERT_FALSE(failed) << nth;
    EXPECT_EQ(group.gathered, nth > 1 ? 1 : 0) << nth;
    EXPECT_EQ(group.reduced, 0);
    EXPECT_EQ(failed.error().what.starts_with("rank 0: "), nth > 1) << failed.error().what;
  }
  EXPECT_TRUE(alone.machine.cuda->launches.empty());
}

// Another library's, or one that came over a bad wire: its code is none of ours, its texts have no
// end.
TEST(PreparedMasterCast, ARankSaysWhatNobodyKnowsHere) {
  Alone alone({{16, 32}}, 0, 101);
  CommunicatorCallbacks callbacks;
  callbacks.all_reduce_max = [](float*, std::int64_t, Stream) { return Result<void>(); };
  callbacks.all_gather = [](const Gather& gather, Stream) -> Result<void> {
    const auto own = static_cast<std::size_t>(gather.counts[0]);
    std::memset(static_cast<std::uint8_t*>(gather.buffer) + own, 'x', own);  // host memory
    return {};
  };
  auto group = CallbackCommunicator::make(0, 2, callbacks).value();
  const auto prepared = alone.prepare(&group);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, ErrorCode::internal);
  EXPECT_EQ(prepared.error().what, "rank 1: " + std::string(496, 'x'));
  EXPECT_EQ(prepared.error().fix, std::string(480, 'x'));
}

TEST(PreparedMasterCast, ARankThatSentNothingIsNamed) {
  Alone alone({{16, 32}}, 0, 101);
  CommunicatorCallbacks callbacks;
  callbacks.all_reduce_max = [](float*, std::int64_t, Stream) { return Result<void>(); };
  callbacks.all_gather = [](const Gather& gather, Stream) -> Result<void> {
    const auto own = static_cast<std::size_t>(gather.counts[0]);
    std::memcpy(static_cast<std::uint8_t*>(gather.buffer) + own, gather.buffer, own);
    return {};  // of three ranks the last one's bytes are missing
  };
  auto group = CallbackCommunicator::make(0, 3, callbacks).value();
  const auto prepared = alone.prepare(&group);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().message(),
            "diecast: invalid_argument: rank 2 sent nothing: the communicator's all_gather left "
            "its bytes as they were\n"
            "  fix: let all_gather copy every rank's bytes to their offset on each rank, before "
            "later work of the stream");
}

}  // namespace
}  // namespace diecast
