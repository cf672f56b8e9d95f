// cuBLASLt's functions as far as they are used, declared here and found at run time, so that
// neither the library nor its headers are needed to build. A test holds every declaration against
// NVIDIA's header where it is installed.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/library.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace diecast::cublaslt {

using Status = int;  // cublasStatus_t
// Handles and descriptors: only pointers to what nobody else looks into ever pass.
struct Context;
struct Operation;
struct Layout;
struct Preference;

inline constexpr Status success = 0, not_supported = 15;
// cudaDataType_t, cublasComputeType_t, cublasOperation_t
inline constexpr int real_f32 = 0, real_bf16 = 14, real_e2m1 = 33;
inline constexpr int compute_f32 = 68;
inline constexpr std::int32_t plain = 0, transposed = 1;
// cublasLtMatmulDescAttributes_t; cublasLtPointerMode_t; cublasLtMatmulMatrixScale_t
inline constexpr int operation_pointer_mode = 2, operation_a_transposition = 3,
                     operation_b_transposition = 4, operation_a_scale = 17, operation_b_scale = 18,
                     operation_a_scale_mode = 31, operation_b_scale_mode = 32;
inline constexpr std::int32_t factors_on_host = 0, factors_on_device = 1;
inline constexpr std::int32_t scale_of_16_e4m3 = 1;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int preference_workspace = 1, preference_a_alignment = 5,
                     preference_b_alignment = 6, preference_c_alignment = 7,
                     preference_d_alignment = 8;
// CUBLAS_VERSION of CUDA 12.8, the first with E2M1 and its block scales.
inline constexpr std::size_t first_version = 120800;

struct Algorithm {  // cublasLtMatmulAlgo_t
  std::uint64_t data[8];
};

struct Found {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

// X(name, result type, parameter types)
// clang-format off
#define DIECAST_CUBLASLT_FUNCTIONS(X)                                                             \
  X(cublasLtGetVersion, std::size_t, ())                                                          \
  X(cublasLtGetStatusName, const char*, (Status))                                                 \
  X(cublasLtCreate, Status, (Context**))                                                          \
  X(cublasLtMatmulDescCreate, Status, (Operation**, int compute, int factors))                    \
  X(cublasLtMatmulDescDestroy, Status, (Operation*))                                              \
  X(cublasLtMatmulDescSetAttribute, Status,                                                       \
    (Operation*, int attribute, const void* value, std::size_t bytes))                            \
  X(cublasLtMatrixLayoutCreate, Status,                                                           \
    (Layout**, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t stride))            \
  X(cublasLtMatrixLayoutDestroy, Status, (Layout*))                                               \
  X(cublasLtMatmulPreferenceCreate, Status, (Preference**))                                       \
  X(cublasLtMatmulPreferenceDestroy, Status, (Preference*))                                       \
  X(cublasLtMatmulPreferenceSetAttribute, Status,                                                 \
    (Preference*, int attribute, const void* value, std::size_t bytes))                           \
  X(cublasLtMatmulAlgoGetHeuristic, Status,                                                       \
    (Context*, Operation*, Layout* a, Layout* b, Layout* c, Layout* d, Preference*, int wanted,   \
     Found* found, int* count))                                                                   \
  X(cublasLtMatmul, Status,                                                                       \
    (Context*, Operation*, const void* alpha, const void* a, Layout*, const void* b, Layout*,     \
     const void* beta, const void* c, Layout*, void* d, Layout*, const Algorithm*,                \
     void* workspace, std::size_t workspace_bytes, void* stream))
// clang-format on

struct Functions {
#define DIECAST_CUBLASLT_FUNCTION(name, result, parameters) result(*name) parameters = nullptr;
  DIECAST_CUBLASLT_FUNCTIONS(DIECAST_CUBLASLT_FUNCTION)
#undef DIECAST_CUBLASLT_FUNCTION
};

struct Api {
  Library library;
  Functions call;
  std::size_t version = 0;  // CUBLAS_VERSION's form: 130100 is 13.1.0

  std::string description() const;  // "cuBLASLt 13.1.0 (/usr/lib/libcublasLt.so.13)"
  // Nothing, or driver_error that names the function and the status.
  Result<void> done(std::string_view function, Status status) const;
};

// The cuBLASLt of this process: the one that DIECAST_CUBLASLT names, else one that is loaded
// already, else what the loader or a toolkit's folder has, newest first. Looked for once, so that
// what `auto` takes does not change while a process runs (a second time where DIECAST_CUBLASLT does
// change), and kept loaded until the process ends. Errors: file_not_found (there is none),
// not_supported (older than 12.8, or a function is missing), driver_unavailable (in a child that
// was forked after CUDA was in use; nothing is looked for there).
Result<std::shared_ptr<const Api>> shared_api();
Result<std::shared_ptr<const Api>> open_api(const std::string& path);

}  // namespace diecast::cublaslt
