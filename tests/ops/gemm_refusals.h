// Products on a fake GPU, for the tests of what gemm_nvfp4 refuses: what it says, and that nothing
// was prepared for it.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/fake_gpu.h"

namespace diecast {

class GemmRefusals : public testing::OnFakeGpu {
 protected:
  GemmRefusals() {
    options_.device = device_;
    a_ = operand(8, 64), b_ = operand(24, 64);
    out_ = {memory(8 * 24 * 4), DType::f32, Shape{8, 24}, 0, nullptr};
  }
  QuantizedTensor operand(std::int64_t rows, std::int64_t cols, bool row_scaled = false,
                          bool columnwise = false) {
    QuantizedTensor q;
    q.shape = Shape{rows, cols};
    q.type.row_scaled = row_scaled;
    q.rowwise = q.rowwise_sizes().value();
    allocate(q.rowwise);
    if (!columnwise) return q;
    q.columnwise = q.columnwise_sizes().value();
    allocate(q.columnwise);
    return q;
  }
  Tensor bias(std::int64_t count, DType dtype = DType::f32) {
    return {memory(count * 4), dtype, Shape{count}, 0, nullptr};
  }
  std::string outcome() {
    const auto done = gemm_nvfp4(*runtime_, a_, b_, out_, options_);
    EXPECT_TRUE(done || machine_.cuda->launches.empty());
    return done ? "ok" : done.error().message();
  }
  // Each refusal is of Release builds too: an Error, and nothing was compiled.
  void expect(std::string_view code, std::string_view what, std::string_view fix) {
    EXPECT_EQ(outcome(), std::string("diecast: ")
                             .append(code)
                             .append(": gemm_nvfp4: ")
                             .append(what)
                             .append("\n  fix: ")
                             .append(fix));
    EXPECT_TRUE(machine_.nvrtc.compiles().empty());
  }

  QuantizedTensor a_, b_;
  Tensor out_;
  GemmNvfp4Options options_;
};

}  // namespace diecast
