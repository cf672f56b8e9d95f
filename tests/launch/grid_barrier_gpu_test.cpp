// Blocks of cooperative launches wait for one another: one launch, two at once, replays of a graph.
#include <diecast/launch/cuda_device.h>

#include "compiled_kernel.h"
#include "launch/words.h"

namespace diecast {
namespace {

constexpr std::int64_t kBlocks = 32, kRounds = 500;

class GridBarrier : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto count = cuda_device_count();
    if (!count || *count == 0) GTEST_SKIP() << "no CUDA device";
    if (!testing::nvrtc()) GTEST_SKIP() << testing::nvrtc().error().message();
    device_ = open_cuda_device(0).value();
    const auto target = Target::for_device(device_->properties().cc).at(0);
    kernel_ = testing::kernel_of("grid_barrier", **testing::nvrtc(), device_, target);
    ASSERT_NE(kernel_, nullptr);
  }

  // What one launch works on, in a stream of its own.
  struct Work {
    Stream stream;
    std::vector<std::uint32_t> cells = std::vector<std::uint32_t>(2 * kBlocks);
    std::vector<std::uint64_t> sums = std::vector<std::uint64_t>(kBlocks);
    std::uint32_t* on_cells;
    std::uint64_t* on_sums;
  };
  Work work() {
    Work out;
    out.stream = device_->create_stream().value();
    out.on_cells = testing::on_device(*device_, out.cells);
    out.on_sums = testing::on_device(*device_, out.sums);
    device_->synchronize({}).value();
    return out;
  }
  Result<void> launch(const Work& of) {
    const KernelArgument arguments[] = {KernelArgument::tensor(DType::u32, of.on_cells),
                                        KernelArgument::tensor(DType::u64, of.on_sums),
                                        KernelArgument::size(kBlocks),
                                        KernelArgument::size(kRounds)};
    return kernel_->launch(arguments, of.stream);
  }
  void expect_right(Work& of) {
    device_->synchronize(of.stream).value();
    testing::take_from_device(*device_, of.on_sums, of.sums);
    testing::take_from_device(*device_, of.on_cells, of.cells);
    std::uint64_t sum = 0;
    for (std::int64_t round = 0; round < kRounds; ++round)
      for (std::int64_t i = 0; i < kBlocks; ++i)
        sum = sum * 31 + static_cast<std::uint64_t>(round * 1000 + i);
    EXPECT_EQ(of.sums, std::vector<std::uint64_t>(kBlocks, sum));
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Kernel> kernel_;
};

TEST_F(GridBarrier, ShowsEveryBlockWhatAllWrote) {
  Work one = work();
  for (int i = 0; i < 3; ++i) launch(one).value();
  expect_right(one);
}

TEST_F(GridBarrier, OfTwoLaunchesAtOnceAreApart) {
  Work one = work(), other = work();
  for (int i = 0; i < 20; ++i) {
    launch(one).value();
    launch(other).value();
  }
  expect_right(one);
  expect_right(other);
}

TEST_F(GridBarrier, OfReplaysOfGraphsAreApart) {
  Work one = work(), other = work();
  const auto graph = [&](const Work& of) {
    return device_->capture(of.stream, [&] { return launch(of); }).value();
  };
  const auto first = graph(one), second = graph(other);
  for (int i = 0; i < 20; ++i) {
    first->repeat().value();
    second->repeat().value();
  }
  expect_right(one);
  expect_right(other);
}

}  // namespace
}  // namespace diecast
