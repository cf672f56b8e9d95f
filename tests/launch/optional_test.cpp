// Launches of kernels with an optional tensor: what each takes, and what it is told otherwise.
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

constexpr const char* kText = R"(/* diecast
size rows
arg x    in  f32 [rows]
arg bias in  f32 [2, rows] stride optional
arg y    out f32 [rows]
arg rows
launch grid(rows) block(64)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class OptionalTensor : public ::testing::TestWithParam<bool> {
 protected:
  OptionalTensor() {
    const auto one = testing::specialize("k", kText, Bindings().set("HAS_BIAS", GetParam()));
    if (GetParam())
      cuda_->parameters["k"] = {8, 8, 8, 8, 8};
    else
      cuda_->parameters["k"] = {8, 8, 8};
    kernel_ = testing::make_kernel(one, device_);
    EXPECT_TRUE(kernel_->preload());
  }
  static std::vector<KernelArgument> arguments(bool bias) {
    return {KernelArgument::tensor(DType::f32, testing::address(0x1000)),
            KernelArgument::tensor(DType::f32, bias ? testing::address(0x2000) : nullptr),
            KernelArgument::tensor(DType::f32, testing::address(0x3000)), KernelArgument::size(7)};
  }
  Result<void> launch_words(const std::vector<KernelArgument>& given) {
    LaunchWords words;
    for (std::size_t i = 0; i < given.size(); ++i) words.set(i, given[i].data, given[i].number);
    return kernel_->launch(words, {});
  }

  testing::FakeCuda cuda_;
  std::shared_ptr<Device> device_ = cuda_.device();
  std::shared_ptr<Kernel> kernel_;
};

TEST_P(OptionalTensor, IsHandedOverOnlyWhereTheKernelHasIt) {
  const auto given = arguments(GetParam());
  ASSERT_TRUE(kernel_->launch(given, {}));
  ASSERT_TRUE(launch_words(given));
  for (const auto& launch : cuda_->launches) {
    ASSERT_EQ(launch.arguments.size(), GetParam() ? 5u : 3u);
    EXPECT_EQ(launch.argument<void*>(0), testing::address(0x1000));
    EXPECT_EQ(launch.argument<void*>(GetParam() ? 3 : 1), testing::address(0x3000));
  }
  EXPECT_EQ(cuda_->launches.size(), 2u);
}

TEST_P(OptionalTensor, OfTheOtherKernelIsRefused) {
  const auto given = arguments(!GetParam());
  const auto launched = kernel_->launch(given, {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message(),
            GetParam() ? "diecast: missing_buffer: k HAS_BIAS=1 @ sm_90a: `bias` is null\n"
                         "  fix: pass device memory for bias, or specialize with HAS_BIAS=0"
                       : "diecast: invalid_argument: k HAS_BIAS=0 @ sm_90a: `bias` is given, and "
                         "the kernel was made for calls without it\n"
                         "  fix: pass a null bias, or specialize with HAS_BIAS=1");
  EXPECT_EQ(launch_words(given).error().message(), launched.error().message());
  EXPECT_TRUE(cuda_->launches.empty());
}

TEST_P(OptionalTensor, NeedNotBeNamedWhereItIsAbsent) {
  const auto given = arguments(false);
  const auto launched = kernel_->launch({{"rows", given[3]}, {"x", given[0]}, {"y", given[2]}}, {});
  EXPECT_EQ(launched.ok(), !GetParam());
  if (!launched) {
    EXPECT_NE(launched.error().what.find("nothing is given as `bias`"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(IsThere, OptionalTensor, ::testing::Bool());

}  // namespace
}  // namespace diecast
