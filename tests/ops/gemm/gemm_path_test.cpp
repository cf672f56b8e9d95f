// Which path a product takes, and what path cublaslt refuses or passes on: typed errors for one
// that was named, our own kernels for auto. A fake library on a fake GPU.
#include "child_process.h"
#include "ops/gemm_cublaslt.h"

namespace diecast {
namespace {

class GemmPath : public GemmByCublasLt {
 protected:
  std::string path() {
    const auto taken = gemm_nvfp4_path(*runtime_, a_, b_, out_, options_);
    return taken ? std::string(*taken) : taken.error().message();
  }
  // The error of the path that was named; auto takes our own kernel, and says so.
  void expect_refusal(std::string_view code, std::string_view what, std::string_view fix) {
    options_.path = "cublaslt";
    const std::string message = std::string("diecast: ")
                                    .append(code)
                                    .append(": gemm_nvfp4: path cublaslt: ")
                                    .append(what)
                                    .append("\n  fix: ")
                                    .append(fix);
    EXPECT_EQ(outcome(), message);
    EXPECT_EQ(path(), message);
    expect_own_by_auto();
  }
  void expect_own_by_auto() {
    EXPECT_TRUE(machine_.cuda->launches.empty());
    options_.path = "auto";
    EXPECT_EQ(path(), "own");
    EXPECT_EQ(outcome(), "ok");
    EXPECT_EQ(launched(), (Words{"gemm_nvfp4"}));
    EXPECT_TRUE(library_->products.empty());
    machine_.cuda->launches.clear();
    options_.path = "cublaslt";
  }
};

TEST_F(GemmPath, IsOwnUnlessAnotherIsNamed) {
  options_.path = GemmNvfp4Options().path;
  EXPECT_EQ(options_.path, "own");
  EXPECT_EQ(path(), "own");
  EXPECT_EQ(outcome(), "ok");
  EXPECT_EQ(launched(), (Words{"gemm_nvfp4"}));
  EXPECT_EQ(library_->calls, Words{});
}

TEST_F(GemmPath, OfAutoIsTheLibraryWhereItTakesTheProduct) {
  options_.path = "auto";
  EXPECT_EQ(path(), "cublaslt");
  EXPECT_TRUE(library_->products.empty());
  EXPECT_EQ(outcome(), "ok");
  EXPECT_EQ(library_->products.size(), 1u);
  EXPECT_EQ(launched(), (Words{"product_factor"}));
}

TEST_F(GemmPath, OfAProductThatWasPreparedForOurOwn) {
  const auto request =
      PreparedGemmNvfp4::Request::of(a_, b_, out_, options_, device_->properties());
  const auto op = PreparedGemmNvfp4::prepare(*runtime_, device_, request).value();
  EXPECT_EQ(op.run(a_, b_, out_, options_, {}).error().message(),
            "diecast: not_supported: gemm_nvfp4: prepared for path own, not cublaslt\n"
            "  fix: prepare a PreparedGemmCublaslt, or path = \"own\"");
  options_.path = "auto";
  op.run(a_, b_, out_, options_, {}).value();
  EXPECT_EQ(launched(), (Words{"gemm_nvfp4"}));
}

TEST_F(GemmPath, OfAnotherName) {
  options_.path = "cublas";
  expect("value_not_allowed", "path = cublas", "path = own, unpacked, cublaslt or auto");
}

TEST_F(GemmPath, OnAGpuWithoutFp4TensorCores) {
  machine_.cuda->gpus[0].cc = 90;
  options_.device = machine_.cuda.device();
  expect_refusal("not_supported", "Fake GPU has no FP4 tensor cores",
                 "path = \"own\", which runs everywhere, or a GPU of compute capability 10.0 on");
  EXPECT_EQ(library_->calls, Words{});
}

TEST_F(GemmPath, OfScalesThatAreNoTilesOf128x4) {
  a_ = operand(8, 64), b_ = operand(24, 64);
  expect_refusal("not_supported", "scales are linear",
                 "quantize with layout s128x4, or arrange_scales, or path = \"own\"");
}

TEST_F(GemmPath, OfRowsThatAreNoWholePieces) {
  a_ = tiled(8, 80), b_ = tiled(24, 80);
  expect_refusal("shape_mismatch",
                 "K = 80, N = 24: rows of codes and of out are no whole pieces of 16 bytes",
                 "pad K to a multiple of 32 and N to one of 8, or path = \"own\"");
  a_ = tiled(8, 64), b_ = tiled(20, 64);
  out_.shape = Shape{8, 20};
  expect_refusal("shape_mismatch",
                 "K = 64, N = 20: rows of codes and of out are no whole pieces of 16 bytes",
                 "pad K to a multiple of 32 and N to one of 8, or path = \"own\"");
}

TEST_F(GemmPath, OfAddressesBetweenPieces) {
  b_.rowwise.data = static_cast<std::uint8_t*>(b_.rowwise.data) + 8;
  expect_refusal("misaligned", "codes or scales of b do not start at a multiple of 16 bytes",
                 "start them at one, or path = \"own\"");
  b_ = tiled(24, 64);
  a_.rowwise.scale = static_cast<std::uint8_t*>(a_.rowwise.scale) + 4;
  expect_refusal("misaligned", "codes or scales of a do not start at a multiple of 16 bytes",
                 "start them at one, or path = \"own\"");
  a_ = tiled(8, 64);
  out_.data = static_cast<std::uint8_t*>(out_.data) + 2;
  expect_refusal("misaligned", "out does not start at a multiple of 16 bytes",
                 "start it at one, or path = \"own\"");
}

TEST_F(GemmPath, OfTooLittleScratch) {
  options_.scratch_bytes = 255;
  expect_refusal("missing_buffer", "scratch has 255 bytes, 256 are needed",
                 "pass 33554688 bytes of device memory, cuBLASLt's workspace among them, or path = "
                 "\"own\"");
  a_ = tiled(8, 64, true);
  options_.scratch = nullptr, options_.scratch_bytes = kScratch;
  expect_refusal("missing_buffer", "scratch has 0 bytes, 768 are needed",
                 "pass 33555200 bytes of device memory, cuBLASLt's workspace among them, or path = "
                 "\"own\"");
  options_.scratch = static_cast<std::uint8_t*>(at_256(kScratch)) + 16;
  expect_refusal("misaligned", "scratch does not start at a multiple of 256 bytes",
                 "start it at one, or path = \"own\"");
}

TEST_F(GemmPath, WithoutTheLibrary) {
  ::setenv("DIECAST_CUBLASLT", "/nowhere/libcublasLt.so.13", 1);
  const std::string message = outcome();
  EXPECT_TRUE(
      message.starts_with("diecast: file_not_found: cannot open the library "
                          "\"/nowhere/libcublasLt.so.13\": "))
      << message;
  EXPECT_TRUE(
      message.ends_with("\n  fix: install CUDA 12.8 or newer, or set DIECAST_CUBLASLT to "
                        "the path of its libcublasLt.so"))
      << message;
  expect_own_by_auto();
}

// G-09
TEST_F(GemmPath, InAForkedChildAsksForNoLibrary) {
  EXPECT_TRUE(cublaslt::shared_api());
  EXPECT_EQ(testing::in_child([] {
              const auto api = cublaslt::shared_api();
              return !api && api.error().code == ErrorCode::driver_unavailable ? 0 : 1;
            }),
            0);
}

TEST_F(GemmPath, WithALibraryThatIsTooOldOrAnother) {
  library_->version = 120701;
  const std::string fake = testing::FakeCublasLt::path();
  const std::string fix =
      "\n  fix: install CUDA 12.8 or newer, or set DIECAST_CUBLASLT to the path of its "
      "libcublasLt.so";
  EXPECT_EQ(cublaslt::open_api(fake).error().message(),
            "diecast: not_supported: " + fake +
                " is version 120701; NVFP4 products came with 120800" + fix);
  library_->version = 120800;
  EXPECT_EQ(cublaslt::open_api(fake).value()->version, 120800u);
  const std::string other = DIECAST_FAKE_DIR "/libfake_nccl.so";
  EXPECT_EQ(cublaslt::open_api(other).error().message(),
            "diecast: not_supported: " + other + " has no cublasLtGetVersion" + fix);
}

TEST_F(GemmPath, OfAProductThatTheHeuristicsHaveNothingFor) {
  const auto expect_none = [&] {
    const std::string message =
        "diecast: not_supported: gemm_nvfp4: cuBLASLt 130100 has no algorithm for [8, 64] times "
        "[24, 64] to bf16 with 33558272 bytes of workspace\n"
        "  fix: path = \"own\", more scratch, or a newer cuBLASLt";
    EXPECT_EQ(outcome(), message);
    EXPECT_EQ(path(), message);
    expect_own_by_auto();
    library_->fail.clear();
    library_->found = 1, library_->found_state = 0;
  };
  library_->fail["cublasLtMatmulAlgoGetHeuristic"] = 15;
  expect_none();
  library_->found = 0;
  expect_none();
  library_->found_state = 15;
  expect_none();
}

TEST_F(GemmPath, PassesOnWhatFailsUnderAutoToo) {
  const Words functions = {"cublasLtCreate",
                           "cublasLtMatmulDescCreate",
                           "cublasLtMatmulDescSetAttribute",
                           "cublasLtMatrixLayoutCreate",
                           "cublasLtMatmulPreferenceCreate",
                           "cublasLtMatmulPreferenceSetAttribute",
                           "cublasLtMatmulAlgoGetHeuristic",
                           "cublasLtMatmul"};
  for (const std::string& function : functions) {
    for (const std::string_view path : {"cublaslt", "auto"}) {
      options_.path = path;
      library_->fail = {{function, 1}};
      const std::string message = outcome();
      EXPECT_TRUE(message.starts_with("diecast: driver_error: " + function)) << message;
      EXPECT_NE(message.find(" gave CUBLAS_STATUS_NOT_INITIALIZED (1)\n  fix: run with "
                             "CUBLASLT_LOG_LEVEL=2 to see cuBLASLt's own account"),
                std::string::npos)
          << message;
      EXPECT_EQ(library_->alive, 0) << function;
    }
  }
}

// A library's context stays until the process ends, and a call may come in every step.
TEST_F(GemmPath, MakesNoContextOfTheLibraryForWhatIsNotPrepared) {
  runtime_->freeze();
  for (int step = 0; step < 3; ++step)
    EXPECT_TRUE(outcome().starts_with("diecast: frozen: ")) << outcome();
  EXPECT_EQ(library_->calls, Words{});
}

TEST_F(GemmPath, HasTheChecksOfOurOwnKernels) {
  options_.gradient = true;
  a_ = tiled(8, 64, true);
  expect("not_supported", "a is row-scaled, and the product is a gradient",
         "quantize the operands of a gradient with one amax each");
  options_.gradient = false;
  a_.rowwise.amax = nullptr;
  expect("missing_buffer", "a has no rowwise amax, which the product needs",
         "set a.rowwise.amax to f32 [8] in device memory");
  a_ = tiled(8, 64);
  out_.dtype = DType::e4m3;
  expect("dtype_mismatch", "out is e4m3", "out is bf16, f16 or f32; quantize it afterwards");
  EXPECT_TRUE(library_->products.empty());
}

}  // namespace
}  // namespace diecast
