// A runtime that is asked for ever new row lengths keeps so many prepared requests, and serves the
// rest by the kernel for any length.
#include <gtest/gtest.h>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class PreparedRequests : public ::testing::Test {
 protected:
  // How many kernels were compiled for these lengths of rows with an amax of their own, whose
  // request has the length.
  std::uint64_t compiled_by(std::int64_t first, std::int64_t last) {
    const std::uint64_t before = runtime_->counters().compiled;
    for (std::int64_t cols = first; cols <= last; cols += 16) {
      testing::Matrices m(*device_, 4, cols, true);
      QuantizeNvfp4Options options;
      options.device = device_;
      const auto done = quantize_nvfp4(*runtime_, m.x, m.out, options);
      EXPECT_TRUE(done) << done.error().message();
    }
    return runtime_->counters().compiled - before;
  }

  testing::FakeMachine machine_;
  std::shared_ptr<Device> device_ = machine_.cuda.device();
  std::shared_ptr<Runtime> runtime_ = [this] {
    RuntimeOptions options = machine_.options();
    options.prepared_requests = 3;
    return Runtime::create(options).value();
  }();
};

TEST_F(PreparedRequests, BeyondSoManyARowLengthCountsAsUnknown) {
  const std::uint64_t each = compiled_by(16, 16);
  ASSERT_GE(each, 1u);
  EXPECT_EQ(compiled_by(32, 48), 2 * each);
  EXPECT_EQ(compiled_by(64, 64), each);  // for any length
  EXPECT_EQ(compiled_by(80, 1600), 0u);
  EXPECT_EQ(compiled_by(16, 48), 0u);  // what is kept stays
}

}  // namespace
}  // namespace diecast
