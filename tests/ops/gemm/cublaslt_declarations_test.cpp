// diecast's declarations of cuBLASLt against NVIDIA's header, where it is installed.
#include <diecast/ops/gemm/cublaslt/api.h>
#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define DIECAST_HAS_CUBLASLT_H
#elif __has_include("/usr/local/cuda/include/cublasLt.h")
#include "/usr/local/cuda/include/cublasLt.h"
#define DIECAST_HAS_CUBLASLT_H
#endif

// E2M1 and block scales came with 12.8, and this macro's form with 12.
#if defined(DIECAST_HAS_CUBLASLT_H) && CUBLAS_VERSION >= 120800

#include <cstddef>

#include "declared_types.h"

namespace diecast::testing {
namespace {

template <>
struct Ours<std::remove_pointer_t<cublasLtHandle_t>> {
  using type = cublaslt::Context;
};
template <>
struct Ours<cublasLtMatmulDescOpaque_t> {
  using type = cublaslt::Operation;
};
template <>
struct Ours<cublasLtMatrixLayoutOpaque_t> {
  using type = cublaslt::Layout;
};
template <>
struct Ours<cublasLtMatmulPreferenceOpaque_t> {
  using type = cublaslt::Preference;
};
template <>
struct Ours<cublasLtMatmulAlgo_t> {
  using type = cublaslt::Algorithm;
};
template <>
struct Ours<cublasLtMatmulHeuristicResult_t> {
  using type = cublaslt::Found;
};
template <>
struct Ours<std::remove_pointer_t<cudaStream_t>> {
  using type = void;
};

}  // namespace
}  // namespace diecast::testing

namespace diecast::cublaslt {
namespace {

using testing::Ours;

#define DIECAST_CUBLASLT_FUNCTION(name, result, parameters) \
  static_assert(std::is_same_v<Ours<decltype(::name)>::type, result parameters>, #name);
DIECAST_CUBLASLT_FUNCTIONS(DIECAST_CUBLASLT_FUNCTION)
#undef DIECAST_CUBLASLT_FUNCTION

TEST(CublasLtDeclarations, AreLaidOutAsInTheHeader) {
  EXPECT_EQ(sizeof(Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(Found), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(Found, algorithm), offsetof(cublasLtMatmulHeuristicResult_t, algo));
  EXPECT_EQ(offsetof(Found, workspace_bytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(Found, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(offsetof(Found, waves), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
  EXPECT_EQ(offsetof(Found, reserved), offsetof(cublasLtMatmulHeuristicResult_t, reserved));
}

TEST(CublasLtDeclarations, NumberThingsAsTheHeaderDoes) {
  EXPECT_EQ(success, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(not_supported, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(real_f32, CUDA_R_32F);
  EXPECT_EQ(real_bf16, CUDA_R_16BF);
  EXPECT_EQ(real_e2m1, CUDA_R_4F_E2M1);
  EXPECT_EQ(compute_f32, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(plain, CUBLAS_OP_N);
  EXPECT_EQ(transposed, CUBLAS_OP_T);
  EXPECT_EQ(operation_pointer_mode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
  EXPECT_EQ(operation_a_transposition, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(operation_b_transposition, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(operation_a_scale, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  EXPECT_EQ(operation_b_scale, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  EXPECT_EQ(operation_a_scale_mode, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
  EXPECT_EQ(operation_b_scale_mode, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
  EXPECT_EQ(factors_on_host, CUBLASLT_POINTER_MODE_HOST);
  EXPECT_EQ(factors_on_device, CUBLASLT_POINTER_MODE_DEVICE);
  EXPECT_EQ(scale_of_16_e4m3, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
  EXPECT_EQ(preference_workspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(preference_a_alignment, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(preference_b_alignment, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  EXPECT_EQ(preference_c_alignment, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  EXPECT_EQ(preference_d_alignment, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
}

}  // namespace
}  // namespace diecast::cublaslt

#else

TEST(CublasLtDeclarations, AreLaidOutAsInTheHeader) {
  GTEST_SKIP() << "no cublasLt.h of CUDA 12.8 or newer";
}

#endif
