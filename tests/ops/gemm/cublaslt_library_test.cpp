// NVIDIA's own cuBLASLt, where it is installed: it needs no GPU to take a product's descriptors,
// and refuses an attribute that it does not know or that has another size.
#include <diecast/ops/gemm/cublaslt/product.h>
#include <gtest/gtest.h>

namespace diecast::cublaslt {
namespace {

TEST(CublasLtLibrary, TakesWhatItIsTold) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "a library of others, whose own memory the sanitizer would watch";
#endif
  const auto api = open_api("");
  if (!api) GTEST_SKIP() << api.error().message();
  EXPECT_GE((*api)->version, first_version);
  alignas(256) static std::uint8_t memory[4096];
  const float factor = 1;
  for (const DType out : {DType::bf16, DType::f32}) {
    for (const bool on_device : {false, true}) {
      Described described(*api);
      described
          .make({{memory, memory},
                 {memory, memory},
                 8,
                 24,
                 64,
                 memory,
                 out,
                 &factor,
                 &factor,
                 on_device,
                 memory,
                 32 << 20})
          .value();
    }
  }
}

}  // namespace
}  // namespace diecast::cublaslt
