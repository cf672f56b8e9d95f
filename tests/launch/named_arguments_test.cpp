// Launching by the names of a template's `arg` lines.
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

using testing::address;

constexpr const char* kNamedText = R"(/* diecast
size rows
arg x in f32 [rows]
arg y out f32 [rows]
arg rows
launch grid(rows) block(32)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class NamedArguments : public ::testing::Test {
 protected:
  NamedArguments() {
    cuda_->parameters["k"] = {8, 8, 8};
    kernel_ = testing::make_kernel(testing::specialize("k", kNamedText, {}), device_);
    EXPECT_TRUE(kernel_->preload());
  }
  static KernelArgument floats(std::uintptr_t at) {
    return KernelArgument::tensor(DType::f32, address(at));
  }
  static std::string message(const Result<void>& launched) {
    return launched ? "" : launched.error().message();
  }

  testing::FakeCuda cuda_;
  std::shared_ptr<Device> device_ = cuda_.device();
  std::shared_ptr<Kernel> kernel_;
  const KernelArgument rows_ = KernelArgument::size(7);
};

TEST_F(NamedArguments, ComeInAnyOrder) {
  ASSERT_TRUE(kernel_->launch({{"rows", rows_}, {"y", floats(0x20)}, {"x", floats(0x10)}}, {}));
  const auto& launch = cuda_->launches.at(0);
  EXPECT_EQ(launch.argument<void*>(0), address(0x10));
  EXPECT_EQ(launch.argument<void*>(1), address(0x20));
  EXPECT_EQ(launch.argument<std::int64_t>(2), 7);
}

TEST_F(NamedArguments, EachIsGivenOnceByANameThatIsThere) {
  const std::string fix = "\n  fix: give each of these once: x, y, rows";
  EXPECT_EQ(message(kernel_->launch({{"x", floats(0x10)}, {"y", floats(0x20)}}, {})),
            "diecast: invalid_argument: k @ sm_90a: nothing is given as `rows`" + fix);
  EXPECT_EQ(
      message(kernel_->launch({{"x", floats(0x10)}, {"x", floats(0x20)}, {"rows", rows_}}, {})),
      "diecast: invalid_argument: k @ sm_90a: two arguments are given as `x`" + fix);
  EXPECT_EQ(
      message(kernel_->launch({{"x", floats(0x10)}, {"y", floats(0x20)}, {"row", rows_}}, {})),
      "diecast: invalid_argument: k @ sm_90a: the kernel has no argument `row`; did you mean "
      "`rows`?" +
          fix);
  EXPECT_TRUE(cuda_->launches.empty());
}

}  // namespace
}  // namespace diecast
