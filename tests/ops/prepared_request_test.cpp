// A request that is read off arguments is the convenience call's own: it needs no further kernel.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <functional>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

class PreparedRequest : public ::testing::Test {
 protected:
  void* take(std::int64_t bytes) {
    return device_->allocate(static_cast<std::size_t>(bytes)).value();
  }
  QuantizedTensor output(bool row_scaled, ScaleLayout layout, bool columns) {
    QuantizedTensor out;
    out.shape = x_.shape;
    out.row_scaled = row_scaled;
    out.layout = layout;
    out.rowwise = out.rowwise_sizes().value();
    if (columns) out.columnwise = out.columnwise_sizes().value();
    for (QuantizedSide* side : {&out.rowwise, &out.columnwise}) {
      if (side->data_bytes == 0) continue;
      side->data = take(side->data_bytes);
      side->scale = take(side->scale_bytes);
      side->amax = static_cast<float*>(take(side->amax_count * 4));
    }
    return out;
  }
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
  const Tensor x_{take(64 * 4096 * 2), DType::bf16, Shape{64, 4096}, 0, nullptr};
};

TEST_F(PreparedRequest, OfQuantizeNvfp4) {
  for (const bool row_scaled : {false, true}) {
    for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4}) {
      const QuantizedTensor out = output(row_scaled, layout, false);
      QuantizeNvfp4Options options;
      options.device = device_;
      options.rht = row_scaled;
      options.amax_given = layout == ScaleLayout::s128x4;
      const auto request = PreparedQuantizeNvfp4::Request::of(x_, out, options);
      EXPECT_EQ(request.cols, row_scaled && !options.amax_given ? 4096 : 0);
      EXPECT_EQ(request.sign_mask, row_scaled ? kHadamardSigns : 0);
      EXPECT_EQ(compiled_by([&] { return quantize_nvfp4(*runtime_, x_, out, options); },
                            [&]() -> Result<void> {
                              DIECAST_TRY(const auto op, PreparedQuantizeNvfp4::prepare(
                                                             *runtime_, device_, request));
                              return op.run(x_, out, {});
                            }),
                0u);
    }
  }
}

TEST_F(PreparedRequest, OfQuantizeNvfp4Tiles) {
  const QuantizedTensor out = output(false, ScaleLayout::linear, true);
  QuantizeNvfp4TilesOptions options;
  options.device = device_;
  EXPECT_EQ(compiled_by([&] { return quantize_nvfp4_tiles(*runtime_, x_, out, options); },
                        [&]() -> Result<void> {
                          DIECAST_TRY(const auto op, PreparedQuantizeNvfp4Tiles::prepare(
                                                         *runtime_, device_,
                                                         PreparedQuantizeNvfp4Tiles::Request::of(
                                                             x_, out, options)));
                          return op.run(x_, out, {});
                        }),
            0u);
}

TEST_F(PreparedRequest, OfAmax) {
  float* const result = static_cast<float*>(take(64 * 4));
  AmaxOptions options;
  options.device = device_;
  options.per = AmaxPer::row;
  options.transform = AmaxTransform::row;
  options.sign_mask = 3;
  const auto request = PreparedAmax::Request::of(x_, options);
  EXPECT_EQ(request.sign_mask, 3);
  EXPECT_EQ(compiled_by([&] { return amax(*runtime_, x_, result, options); },
                        [&]() -> Result<void> {
                          DIECAST_TRY(const auto op,
                                      PreparedAmax::prepare(*runtime_, device_, request));
                          return op.run(x_, result, false, {});
                        }),
            0u);
}

}  // namespace
}  // namespace diecast
