// A kernel launched by the words of arguments whose kinds and types were checked once.
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

constexpr const char* kWordsText = R"(/* diecast
size rows device
size cols
arg x in f32 [rows, cols] stride
arg y out f32 [rows]
arg rows
arg cols
arg scale f32
launch grid(rows) block(64)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class KernelWords : public ::testing::Test {
 protected:
  KernelWords() {
    cuda_->parameters["k"] = {8, 8, 8, 16, 8, 4};
    EXPECT_TRUE(kernel_->preload());
  }
  static std::vector<KernelArgument> arguments(std::uintptr_t y = 0x2000) {
    return {KernelArgument::tensor(DType::f32, testing::address(0x1000)),
            KernelArgument::tensor(DType::f32, testing::address(y)), KernelArgument::size(7),
            KernelArgument::size(48), KernelArgument::scalar(2.5f)};
  }
  static LaunchWords words(const std::vector<KernelArgument>& given) {
    LaunchWords words;
    for (std::size_t i = 0; i < given.size(); ++i) words.set(i, given[i].data, given[i].number);
    return words;
  }

  testing::FakeCuda cuda_;
  std::shared_ptr<Device> device_ = cuda_.device();
  std::shared_ptr<Kernel> kernel_ =
      testing::make_kernel(testing::specialize("k", kWordsText), device_);
};

// The usual launch, and ones that are not.
TEST_F(KernelWords, LaunchAsTheArgumentsThemselvesDo) {
  const std::int64_t count = 3;
  for (const bool counted : {false, true})
    for (const int stride : {0, 48, 64}) {
      auto given = arguments();
      given[0].number = stride;
      if (counted) given[2] = KernelArgument::device_size(&count, 7);
      cuda_->launches.clear();
      ASSERT_TRUE(kernel_->launch(given, {}));
      LaunchWords its = words(given);
      ASSERT_TRUE(kernel_->launch(its, {}));
      ASSERT_EQ(cuda_->launches.size(), 2u);
      EXPECT_EQ(cuda_->launches[0].arguments, cuda_->launches[1].arguments);
      EXPECT_EQ(cuda_->launches[0].grid, cuda_->launches[1].grid);
    }
}

TEST_F(KernelWords, ThatAreWrongNeverReachTheDevice) {
  const auto given = arguments(0x2001);
  LaunchWords its = words(given);
  const auto launched = kernel_->launch(its, {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message(), kernel_->launch(given, {}).error().message());
  EXPECT_EQ(launched.error().code, ErrorCode::misaligned);
  EXPECT_TRUE(cuda_->launches.empty());
}

TEST_F(KernelWords, OfASizeInDeviceMemoryAreRefusedWhereTheKernelHasTheNumber) {
  const std::int64_t count = 48;
  LaunchWords its = words(arguments());
  its.set(3, &count, 48);  // cols
  EXPECT_EQ(kernel_->launch(its, {}).error().code, ErrorCode::not_supported);
  EXPECT_TRUE(cuda_->launches.empty());
}

// Of several rows, not of one.
TEST_F(KernelWords, OfRowsThatWouldNotLieAlignedAreRefused) {
  const auto dense = testing::make_kernel(testing::specialize("k", R"(/* diecast
size rows
size cols
arg x in u8 [rows, cols] align 8
arg rows
arg cols
launch grid(rows) block(64)
target sm_80+
*/
DIECAST_KERNEL {}
)"),
                                          device_);
  cuda_->parameters["k"] = {8, 8, 8};
  ASSERT_TRUE(dense->preload());
  const auto launched = [&](std::int64_t rows, std::int64_t cols) {
    return dense->launch(std::array{KernelArgument::tensor(DType::u8, testing::address(0x1000)),
                                    KernelArgument::size(rows), KernelArgument::size(cols)},
                         {});
  };
  EXPECT_TRUE(launched(2, 16));
  EXPECT_TRUE(launched(1, 13));
  EXPECT_EQ(launched(2, 13).error().code, ErrorCode::misaligned);
  EXPECT_EQ(cuda_->launches.size(), 2u);
}

TEST_F(KernelWords, AreOfArgumentsThatTheKernelTakes) {
  auto kinds = arguments();
  EXPECT_TRUE(kernel_->takes(kinds));
  kinds[0].dtype = DType::bf16;
  EXPECT_EQ(kernel_->takes(kinds).error().code, ErrorCode::dtype_mismatch);
  kinds[0] = KernelArgument::size(1);
  EXPECT_EQ(kernel_->takes(kinds).error().code, ErrorCode::invalid_argument);
  kinds.pop_back();
  EXPECT_EQ(kernel_->takes(kinds).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace diecast
