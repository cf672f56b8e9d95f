// Products by a fake cuBLASLt on a fake GPU with FP4 tensor cores, for the tests of what it is told
// and of what is refused.
#pragma once

#include <stdlib.h>

#include "fake/cublaslt_script.h"
#include "ops/gemm_refusals.h"

namespace diecast {

class GemmByCublasLt : public GemmRefusals {
 protected:
  using Words = std::vector<std::string>;
  static constexpr std::int64_t kScratch = (32 << 20) + 4096;

  GemmByCublasLt() {
    ::setenv("DIECAST_CUBLASLT", testing::FakeCublasLt::path().c_str(), 1);
    machine_.cuda->gpus[0].cc = 100;
    device_ = machine_.cuda.device();
    options_.device = device_;
    options_.path = "cublaslt";
    options_.scratch = at_256(kScratch);
    options_.scratch_bytes = kScratch;
    a_ = tiled(8, 64), b_ = tiled(24, 64);
    out_ = {at_256(8 * 64 * 4), DType::bf16, Shape{8, 24}, 0, nullptr};
  }
  ~GemmByCublasLt() override {
    ::unsetenv("DIECAST_CUBLASLT");
    EXPECT_EQ(library_->alive, 0) << "descriptors that were not destroyed";
    *library_.operator->() = {};
  }

  // As a GPU's driver gives memory.
  void* at_256(std::int64_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory(bytes + 256));
    return reinterpret_cast<void*>((address + 255) / 256 * 256);
  }
  QuantizedTensor tiled(std::int64_t rows, std::int64_t cols, bool row_scaled = false) {
    QuantizedTensor q;
    q.shape = Shape{rows, cols};
    q.type.row_scaled = row_scaled;
    q.type.layout = ScaleLayout::s128x4;
    q.rowwise = q.rowwise_sizes().value(), q.columnwise = q.columnwise_sizes().value();
    for (QuantizedSide* const side : {&q.rowwise, &q.columnwise}) {
      side->data = at_256(side->data_bytes);
      side->scale = at_256(side->scale_bytes);
      side->amax = static_cast<float*>(at_256(side->amax_count * 4));
    }
    return q;
  }
  std::string outcome(Stream stream = {}) {
    const auto done = gemm_nvfp4(*runtime_, a_, b_, out_, options_, stream);
    return done ? "ok" : done.error().message();
  }
  // What was launched, in order, without its arguments.
  Words launched() {
    Words names;
    for (const auto& launch : machine_.cuda->launches) names.push_back(launch.symbol);
    return names;
  }
  const void* at_scratch(std::int64_t bytes) const {
    return static_cast<const std::uint8_t*>(options_.scratch) + bytes;
  }

  testing::FakeCublasLt library_;
};

}  // namespace diecast
