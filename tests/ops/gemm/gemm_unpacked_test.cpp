// gemm_nvfp4 by path "unpacked": when it is taken, what it launches, and what it refuses. On a fake
// GPU of compute capability 9.0.
#include <diecast/ops/gemm/gemm_unpacked.h>

#include "ops/gemm_cublaslt.h"

namespace diecast {
namespace {

class GemmUnpacked : public GemmByCublasLt {
 protected:
  GemmUnpacked() {
    machine_.cuda->gpus[0].cc = 90;
    options_.device = device_ = machine_.cuda.device();
    options_.path = "unpacked";
  }
  std::string path() {
    const auto taken = gemm_nvfp4_path(*runtime_, a_, b_, out_, options_);
    return taken ? std::string(*taken) : taken.error().message();
  }
  // The error of the path that was named; auto takes our other kernel.
  void expect_refusal(const std::string& message) {
    EXPECT_EQ(outcome(), message);
    EXPECT_EQ(path(), message);
    EXPECT_TRUE(machine_.cuda->launches.empty());
    options_.path = "auto";
    EXPECT_EQ(path(), "own");
  }
  void multiply(std::int64_t rows, std::int64_t cols, std::int64_t depth) {
    a_ = tiled(rows, depth), b_ = tiled(cols, depth);
    out_ = {at_256(rows * cols * 2), DType::bf16, Shape{rows, cols}, 0, nullptr};
    options_.scratch_bytes = GemmUnpackedRequest::scratch_bytes(rows, cols, depth);
    options_.scratch = at_256(options_.scratch_bytes);
  }
};

TEST_F(GemmUnpacked, IsTwoLaunches) {
  EXPECT_EQ(path(), "unpacked");
  EXPECT_EQ(outcome(), "ok");
  EXPECT_EQ(launched(), (Words{"unpack_product", "gemm_nvfp4_wgmma"}));
}

TEST_F(GemmUnpacked, IsTakenByAutoWhereTheProductIsLarge) {
  options_.path = "auto";
  multiply(512, 384, 64);
  EXPECT_EQ(path(), "unpacked");
  EXPECT_EQ(outcome(), "ok");
  EXPECT_EQ(launched(), (Words{"unpack_product", "gemm_nvfp4_wgmma"}));
  multiply(128, 4096, 64);
  EXPECT_EQ(path(), "own");
  multiply(512, 384, 64);
  options_.scratch = nullptr;
  EXPECT_EQ(path(), "own");
}

TEST_F(GemmUnpacked, LaunchesNothingForNoElements) {
  multiply(0, 24, 64);
  EXPECT_EQ(outcome(), "ok");
  EXPECT_EQ(launched(), Words{});
}

TEST_F(GemmUnpacked, WantsTwoBytesForEachNumberOfWholeTiles) {
  EXPECT_EQ(GemmUnpackedRequest::scratch_bytes(1, 1, 16), 2 * 128 * 64 * 2);
  EXPECT_EQ(GemmUnpackedRequest::scratch_bytes(4096, 4096, 4096), 2 * 4096 * 4096 * 2);
  EXPECT_EQ(GemmUnpackedRequest::scratch_bytes(INT64_MAX, INT64_MAX, INT64_MAX), INT64_MAX);
}

TEST_F(GemmUnpacked, RefusesScratchThatIsTooSmall) {
  options_.scratch_bytes = 32767;
  expect_refusal(
      "diecast: missing_buffer: gemm_nvfp4: path unpacked: scratch has 32767 bytes, 32768 are "
      "needed\n  fix: pass 32768 bytes of device memory, or path = \"own\"");
}

TEST_F(GemmUnpacked, RefusesScratchThatStartsAnywhere) {
  options_.scratch = static_cast<std::uint8_t*>(options_.scratch) + 16;
  expect_refusal(
      "diecast: misaligned: gemm_nvfp4: path unpacked: scratch does not start at a multiple of 128 "
      "bytes\n  fix: start it at one, or path = \"own\"");
}

TEST_F(GemmUnpacked, RefusesAProductOfNothing) {
  multiply(8, 24, 0);
  expect_refusal(
      "diecast: shape_mismatch: gemm_nvfp4: path unpacked: K is 0\n  fix: pass numbers, or path = "
      "\"own\"");
}

TEST_F(GemmUnpacked, RefusesAnotherGpu) {
  machine_.cuda->gpus[0].cc = 89;
  options_.device = machine_.cuda.device();
  expect_refusal(
      "diecast: not_supported: gemm_nvfp4: path unpacked: Fake GPU is no GPU of compute capability "
      "9.0\n  fix: path = \"own\", which runs everywhere");
}

TEST_F(GemmUnpacked, IsNotWhatAnotherPathWasPreparedFor) {
  const auto request =
      PreparedGemmNvfp4::Request::of(a_, b_, out_, options_, device_->properties());
  const auto op = PreparedGemmNvfp4::prepare(*runtime_, device_, request).value();
  EXPECT_EQ(op.run(a_, b_, out_, options_, {}).error().message(),
            "diecast: not_supported: gemm_nvfp4: prepared for path own, not unpacked\n"
            "  fix: prepare a PreparedGemmUnpacked, or path = \"own\"");
  const auto unpacked = PreparedGemmUnpacked::prepare(
                            *runtime_, device_, GemmUnpackedRequest::of(a_, b_, out_, options_))
                            .value();
  options_.accumulate = true;
  EXPECT_EQ(unpacked.run(a_, b_, out_, options_, {}).error().code, ErrorCode::not_supported);
}

}  // namespace
}  // namespace diecast
