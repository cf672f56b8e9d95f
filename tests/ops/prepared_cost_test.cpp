// A prepared op's run takes no memory, on a fake GPU whose record is off.
#include <diecast/diecast.h>
#include <diecast/launch/kernel/arguments.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "allocations.h"
#include "ops/every_prepared.h"
#include "ops/fake_matrices.h"
#include "ops/weights_on_fake_gpu.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

// Allocations of a hundred runs, after one, on a fake GPU that records nothing meanwhile.
long allocations_of(const testing::FakeCuda& gpu, const std::function<Result<void>()>& run) {
  bool all = run().ok();
  gpu->quiet = true;
  const long before = testing::allocations;
  for (int i = 0; i < 100; ++i) all &= run().ok();
  const long after = testing::allocations;
  gpu->quiet = false;
  EXPECT_TRUE(all);
  return after - before;
}

class PreparedCost : public EveryPrepared {};

TEST_F(PreparedCost, OfARunIsNoMemory) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "the sanitizer counts allocations itself";
#endif
  for (const auto& [name, run] : runs_) {
    ASSERT_TRUE(run()) << name.first << " " << name.second << ": " << run().error().message();
    library_->quiet = true;
    EXPECT_EQ(allocations_of(machine_.cuda, run), 0) << name.first << " " << name.second;
    library_->quiet = false;
  }
  EXPECT_GT(testing::allocations, 0);
}

TEST_F(PreparedCost, IsTestedForEveryPreparedOp) {
  std::set<std::string> declared, tested = {"PreparedMasterCast", "PreparedPostAllGather"};
  for (const auto& [name, run] : runs_) tested.insert(name.first);
  const std::filesystem::path ops = DIECAST_SOURCE_DIR "/src/diecast/ops";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ops)) {
    std::ifstream header(entry.path());
    std::string line, word, name;
    while (entry.path().extension() == ".h" && std::getline(header, line))
      if (std::istringstream words(line);
          words >> word >> name && word == "class" && name.starts_with("Prepared"))
        declared.insert(name);
  }
  EXPECT_EQ(tested, declared);
}

TEST_F(PreparedCost, OfAConvenienceCallIsNoMemory) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "the sanitizer counts allocations itself";
#endif
  for (const bool row_scaled : {false, true}) {
    const testing::Matrices m(*device_, 64, 4096, row_scaled);
    QuantizeNvfp4Options options;
    options.device = device_;
    const auto call = [&] { return quantize_nvfp4(*runtime_, m.x, m.out, options); };
    EXPECT_EQ(allocations_of(machine_.cuda, call), 0);
  }
}

TEST(PreparedWeightsCost, OfAStepIsNoMemoryForAnyNumberOfWeights) {
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
    const auto& gpu = alone.machine.cuda;
    EXPECT_EQ(allocations_of(gpu, [&] { return cast.run(scratch.data_pointer(), {}); }), 0);
    EXPECT_EQ(allocations_of(gpu, [&] { return post.run({}); }), 0);
  }
}

// What most launches take: arguments judged in one stretch, the grid by steps.
TEST_F(PreparedCost, OfALaunchIsTheQuickHalfsWhateverTheRows) {
  const auto has = [](std::string_view name, std::string_view rows) {
    if (name == "quantize_nvfp4_few") return rows == "dense";
    return rows != "dense" || name == "amax" || name == "quantize_nvfp4";
  };
  for (const std::string_view name :
       {"amax", "quantize_nvfp4", "quantize_nvfp4_few", "quantize_nvfp4_row_scaled", "quantize_mx"})
    for (const char* const rows : {"dense", "apart", "any"}) {
      if (!has(name, rows)) continue;
      auto bindings = Bindings().set("IN", DType::bf16);
      if (name != "quantize_nvfp4_few") bindings.set("ROWS", rows);
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
