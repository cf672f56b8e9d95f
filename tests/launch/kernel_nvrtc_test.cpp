// Real machine code against the typed check: the fake driver reads what parameters a cubin takes,
// as the real driver does, and a launch must hand over exactly those bytes.
#include <gtest/gtest.h>

#include "compiled_kernel.h"
#include "sample_kernel.h"

namespace diecast {
namespace {

using testing::address;
using testing::FakeCuda;

constexpr const char* kText = R"(/* diecast
shape  int  COLS = 0
option type IN {bf16, f32} = bf16
size rows device
size cols = COLS
size groups
arg x      in  IN   [rows, cols] stride
arg out    out f32  [rows]
arg rows
arg cols
arg groups
arg eps    f32
arg count  i32
arg wide   i64
arg table  struct Table 24
launch grid(rows) block(32)
target sm_80+
*/
struct Table { i64 a; i32 b; f32 c[3]; };
DIECAST_KERNEL {
  if (threadIdx.x == 0 && blockIdx.x < rows)
    out[blockIdx.x] = eps + table.c[2] + f32(count + wide + groups + cols + x_stride);
}
)";

class CompiledKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::nvrtc()) GTEST_SKIP() << testing::nvrtc().error().message();
  }
  std::shared_ptr<Kernel> load(const Specialization& specialization) {
    auto artifact = testing::compile(specialization).value();
    auto kernel = Kernel::make(specialization, artifact, cuda_.device()).value();
    const auto loaded = kernel->preload();
    EXPECT_TRUE(loaded) << loaded.error().message();
    return kernel;
  }
  FakeCuda cuda_;
};

TEST_F(CompiledKernel, TakesTheBytesThatALaunchPacks) {
  const auto kernel = load(testing::specialize("k", kText));
  struct Table {
    std::int64_t a;
    std::int32_t b;
    float c[3];
  } table = {1, 2, {3, 4, 5}};
  static_assert(sizeof(Table) == 24);
  const KernelArgument arguments[] = {
      KernelArgument::tensor(DType::bf16, address(0x1000), 72),
      KernelArgument::tensor(DType::f32, address(0x2000)),
      KernelArgument::device_size(static_cast<std::int64_t*>(address(0x3000)), 9),
      KernelArgument::size(64),
      KernelArgument::size(3),
      KernelArgument::scalar(0.25f),
      KernelArgument::scalar(std::int32_t{-7}),
      KernelArgument::scalar(std::int64_t{1} << 40),
      KernelArgument::bytes(&table, 24)};
  const auto launched = kernel->launch(arguments, {});
  ASSERT_TRUE(launched) << launched.error().message();
  const auto& launch = cuda_->launches.at(0);
  ASSERT_EQ(launch.arguments.size(), 10u);
  EXPECT_EQ(launch.argument<void*>(0), address(0x1000));
  EXPECT_EQ(launch.argument<std::int64_t>(1), 72);
  EXPECT_EQ(launch.argument<void*>(2), address(0x2000));
  EXPECT_EQ((launch.argument<std::array<std::int64_t, 2>>(3)),
            (std::array<std::int64_t, 2>{0x3000, 9}));
  EXPECT_EQ(launch.argument<std::int64_t>(4), 64);
  EXPECT_EQ(launch.argument<std::int64_t>(5), 3);
  EXPECT_EQ(launch.argument<float>(6), 0.25f);
  EXPECT_EQ(launch.argument<std::int32_t>(7), -7);
  EXPECT_EQ(launch.argument<std::int64_t>(8), std::int64_t{1} << 40);
  EXPECT_EQ(launch.arguments[9], std::string(reinterpret_cast<const char*>(&table), 24));
}

TEST_F(CompiledKernel, FixedSizeIsNoParameter) {
  const auto kernel = load(testing::specialize("k", kText, Bindings().set("COLS", 64)));
  EXPECT_NE(kernel->artifact().argument_schema.find("size cols = 64"), std::string::npos);
}

TEST_F(CompiledKernel, CodeForAnotherHeaderIsRefused) {
  const auto with_stride = testing::specialize("k", kText);
  std::string text = kText;
  text.replace(text.find(" stride"), 7, "");
  text.replace(text.find(" + x_stride"), 11, "");
  const auto without = testing::specialize("k", text);
  Artifact artifact = *testing::compile(without).value();
  artifact.argument_schema = with_stride.argument_schema();
  const auto kernel =
      Kernel::make(with_stride, std::make_shared<Artifact>(std::move(artifact)), cuda_.device())
          .value();
  const auto loaded = kernel->preload();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message(),
            "diecast: file_corrupt: the code of k COLS=0 IN=bf16 @ sm_90a takes parameters of 8, "
            "8, 16, 8, 8, 4, 4, 8, 24 bytes; its header says 8, 8, 8, 16, 8, 8, 4, 4, 8, 24\n"
            "  fix: delete its cache entry and build it again");
}

}  // namespace
}  // namespace diecast
