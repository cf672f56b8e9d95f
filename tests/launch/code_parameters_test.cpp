// The parameters of machine code, as the driver says them: held against the kernel's header when
// the code loads.
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

using Sizes = std::vector<std::size_t>;

constexpr const char* kParametersText = R"(/* diecast
size rows
size cols
arg x in f32 [rows, cols] stride
arg rows
arg cols
launch grid(rows) block(32)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class CodeParameters : public ::testing::Test {
 protected:
  Result<bool> preload() { return testing::make_kernel(specialization_, device_)->preload(); }

  testing::FakeCuda cuda_;
  std::shared_ptr<Device> device_ = cuda_.device();
  const Specialization specialization_ = testing::specialize("k", kParametersText);
};

TEST_F(CodeParameters, AreTheCodesAsFarAsALaunchPassesThem) {
  const auto artifact = testing::artifact_of(specialization_);
  const auto bytes = [&] {
    return device_->load(*artifact, {.parameters = 2}, nullptr).value()->parameter_bytes();
  };
  EXPECT_EQ(bytes(), std::nullopt);  // this fake cubin does not say
  cuda_->parameters["k"] = {8, 16};
  EXPECT_EQ(bytes(), (Sizes{8, 16}));
  cuda_->parameters["k"] = {8};
  EXPECT_EQ(bytes(), Sizes{8});
}

// Asking for one after the last would fail, and tools would report it.
TEST_F(CodeParameters, AreAskedForWithoutACallThatFails) {
  cuda_->parameters["k"] = {8, 8, 8, 8};
  ASSERT_TRUE(preload());
  EXPECT_EQ(cuda_->count("cuKernelGetParamInfo"), 4);
}

TEST_F(CodeParameters, OtherThanTheHeadersAreRefused) {
  const auto refusal = [&](const Sizes& sizes) {
    cuda_->parameters["k"] = sizes;
    const auto loaded = preload();
    return loaded ? "" : loaded.error().message();
  };
  EXPECT_EQ(refusal({8, 8, 16, 8}),
            "diecast: file_corrupt: the code of k @ sm_90a takes parameters of 8, 8, 16, 8 bytes; "
            "its header says 8, 8, 8, 8\n"
            "  fix: delete its cache entry and build it again");
  EXPECT_EQ(refusal({8, 8}),
            "diecast: file_corrupt: the code of k @ sm_90a takes parameters of 8, 8 bytes; "
            "its header says 8, 8, 8, 8\n"
            "  fix: delete its cache entry and build it again");
  EXPECT_EQ(refusal({8, 8, 8, 8}), "");
}

}  // namespace
}  // namespace diecast
