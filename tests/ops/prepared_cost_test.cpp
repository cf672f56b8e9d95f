// A prepared op's run takes no memory, on a fake GPU whose record is off.
#include <diecast/diecast.h>
#include <diecast/launch/kernel/arguments.h>
#include <gtest/gtest.h>

#include <functional>

#include "allocations.h"
#include "ops/fake_matrices.h"
#include "ops/weights_on_fake_gpu.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class PreparedCost : public ::testing::Test {
 protected:
  // Allocations of a hundred runs, after one.
  template <class Run>
  long allocations_of(const Run& run) {
    run();
    machine_.cuda->quiet = true;
    const long before = testing::allocations;
    for (int i = 0; i < 100; ++i) run();
    const long after = testing::allocations;
    machine_.cuda->quiet = false;
    return after - before;
  }

  testing::FakeMachine machine_;
  const std::shared_ptr<Runtime> runtime_ = machine_.runtime();
  const std::shared_ptr<Device> device_ = machine_.cuda.device();
};

TEST_F(PreparedCost, OfQuantizingAndBackIsNoMemory) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "the sanitizer counts allocations itself";
#endif
  for (const bool row_scaled : {false, true}) {
    const testing::Matrices m(*device_, 64, 4096, row_scaled);
    PreparedQuantizeNvfp4::Request request;
    request.row_scaled = row_scaled;
    request.amax_given = !row_scaled;  // the fake driver's fills take memory
    const auto quantize = PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value();
    bool all = true;
    EXPECT_EQ(allocations_of([&] { all &= quantize.run(m.x, m.out, {}).ok(); }), 0);
    QuantizeNvfp4Options options;
    options.device = device_;
    options.amax_given = !row_scaled;
    EXPECT_EQ(allocations_of([&] { all &= quantize_nvfp4(*runtime_, m.x, m.out, options).ok(); }),
              0);
    PreparedDequantizeNvfp4::Request back;
    back.row_scaled = row_scaled;
    const auto dequantize = PreparedDequantizeNvfp4::prepare(*runtime_, device_, back).value();
    EXPECT_EQ(allocations_of([&] { all &= dequantize.run(m.out, m.x, {}).ok(); }), 0);
    EXPECT_TRUE(all);
  }
  EXPECT_GT(testing::allocations, 0);
}

// The fake driver's fill takes memory, a step of sharded weights none beside it.
TEST(PreparedWeightsCost, OfAStepIsTheFillsOwnForAnyNumberOfWeights) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "the sanitizer counts allocations itself";
#endif
  for (const std::size_t count : {std::size_t{1}, std::size_t{560}}) {
    weights_test::Alone alone({count, {16, 32}}, 0, 101);
    const auto cast = alone.prepare().value();
    const auto post =
        PreparedPostAllGather::prepare(*alone.runtime, alone.own->weights, {false, alone.device})
            .value();
    const variants::DeviceBuffer scratch(*alone.device,
                                         static_cast<std::size_t>(cast.scratch_bytes()));
    const auto allocations_of = [&](const std::function<Result<void>()>& run) {
      bool all = run().ok();
      alone.machine.cuda->quiet = true;
      const long before = testing::allocations;
      for (int i = 0; i < 100; ++i) all &= run().ok();
      const long after = testing::allocations;
      alone.machine.cuda->quiet = false;
      EXPECT_TRUE(all);
      return after - before;
    };
    const long fills =
        allocations_of([&] { return alone.device->fill(scratch.data_pointer(), 0, 16, {}); });
    EXPECT_EQ(allocations_of([&] { return cast.run(scratch.data_pointer(), {}); }), fills);
    EXPECT_EQ(allocations_of([&] { return post.run({}); }), 0);
  }
}

// What most launches take: arguments judged in one stretch, the grid by steps.
TEST_F(PreparedCost, OfALaunchIsTheQuickHalfsWhateverTheRows) {
  const auto has = [](std::string_view name, std::string_view rows) {
    if (name == "quantize_nvfp4_once") return rows == "dense";
    return rows != "dense" || name == "amax" || name == "quantize_nvfp4";
  };
  for (const std::string_view name : {"amax", "quantize_nvfp4", "quantize_nvfp4_once",
                                      "quantize_nvfp4_row_scaled", "quantize_mx"})
    for (const char* const rows : {"dense", "apart", "any"}) {
      if (!has(name, rows)) continue;
      auto bindings = Bindings().set("IN", DType::bf16);
      if (name != "quantize_nvfp4_once") bindings.set("ROWS", rows);
      const auto specialization = runtime_->specialize_for(name, bindings, *device_);
      ASSERT_TRUE(specialization) << specialization.error().message();
      const auto slots = LaunchSlots::make(*specialization).value();
      EXPECT_TRUE(ArgumentCheck::make(*specialization, slots)->may_be_quick()) << name << rows;
      EXPECT_TRUE(
          BoundLaunchRule::make(*specialization, device_->properties(), 0, slots)->may_be_quick())
          << name << rows;
    }
}

}  // namespace
}  // namespace diecast
