// A request that is read off arguments is the convenience call's own: it needs no further kernel.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <functional>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class PreparedRequest : public ::testing::Test {
 protected:
  void expect_done(const Result<void>& done) { EXPECT_TRUE(done) << done.error().message(); }
  // Kernels that `second` compiles after `first`, of which both must succeed.
  std::uint64_t compiled_by(const std::function<Result<void>()>& first,
                            const std::function<Result<void>()>& second) {
    const std::uint64_t before = runtime_->counters().compiled;
    expect_done(first());
    const std::uint64_t between = runtime_->counters().compiled;
    EXPECT_GT(between, before);
    expect_done(second());
    return runtime_->counters().compiled - between;
  }

  testing::FakeMachine machine_;
  const std::shared_ptr<Runtime> runtime_ = machine_.runtime();
  const std::shared_ptr<Device> device_ = machine_.cuda.device();
};

TEST_F(PreparedRequest, OfQuantizeNvfp4) {
  for (const bool row_scaled : {false, true}) {
    for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4}) {
      const testing::Matrices m(*device_, 64, 4096, row_scaled, layout);
      QuantizeNvfp4Options options;
      options.device = device_;
      options.rht = row_scaled ? TransformedSides::rowwise : TransformedSides::none;
      options.amax_given = layout == ScaleLayout::s128x4;
      const auto request = PreparedQuantizeNvfp4::Request::of(m.x, m.out, options);
      EXPECT_EQ(request.cols, row_scaled && !options.amax_given ? 4096 : 0);
      EXPECT_EQ(request.sign_mask, row_scaled ? kHadamardSigns : 0);
      EXPECT_EQ(compiled_by([&] { return quantize_nvfp4(*runtime_, m.x, m.out, options); },
                            [&]() -> Result<void> {
                              DIECAST_TRY(const auto op, PreparedQuantizeNvfp4::prepare(
                                                             *runtime_, device_, request));
                              return op.run(m.x, m.out, {});
                            }),
                0u);
    }
  }
}

TEST_F(PreparedRequest, OfQuantizeNvfp4InBothDirections) {
  const testing::Matrices m(*device_, 64, 4096, false, ScaleLayout::linear, true);
  QuantizeNvfp4Options options;
  options.device = device_;
  EXPECT_EQ(compiled_by([&] { return quantize_nvfp4(*runtime_, m.x, m.out, options); },
                        [&]() -> Result<void> {
                          DIECAST_TRY(const auto op,
                                      PreparedQuantizeNvfp4::prepare(
                                          *runtime_, device_,
                                          PreparedQuantizeNvfp4::Request::of(m.x, m.out, options)));
                          return op.run(m.x, m.out, {});
                        }),
            0u);
}

TEST_F(PreparedRequest, OfAmax) {
  const testing::Matrices m(*device_, 64, 4096, true);
  float* const result = m.out.rowwise.amax;
  AmaxOptions options;
  options.device = device_;
  options.per = AmaxPer::row;
  options.transform = AmaxTransform::rowwise;
  options.sign_mask = 3;
  const auto request = PreparedAmax::Request::of(m.x, options);
  EXPECT_EQ(request.sign_mask, 3);
  EXPECT_EQ(compiled_by([&] { return amax(*runtime_, m.x, result, options); },
                        [&]() -> Result<void> {
                          DIECAST_TRY(const auto op,
                                      PreparedAmax::prepare(*runtime_, device_, request));
                          return op.run(m.x, result, false, {});
                        }),
            0u);
}

}  // namespace
}  // namespace diecast
