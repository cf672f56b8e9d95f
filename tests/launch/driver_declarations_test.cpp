// Holds every declaration of driver.h against NVIDIA's own: each function's type at the version it
// is asked for, every constant, every layout. Needs a CUDA toolkit's headers, nothing else.
#include <diecast/launch/driver.h>
#include <gtest/gtest.h>

#include "cuda_headers.h"
#include "declared_types.h"

#if defined(DIECAST_HAS_CUDA_H) && CUDA_VERSION >= 12040

#include <cstddef>

namespace diecast::testing {
namespace {

template <>
struct Ours<std::remove_pointer_t<CUcontext>> {
  using type = cuda::ContextHandle;
};
template <>
struct Ours<std::remove_pointer_t<CUstream>> {
  using type = cuda::StreamHandle;
};
template <>
struct Ours<std::remove_pointer_t<CUevent>> {
  using type = cuda::EventHandle;
};
template <>
struct Ours<std::remove_pointer_t<CUlibrary>> {
  using type = cuda::LibraryHandle;
};
template <>
struct Ours<std::remove_pointer_t<CUkernel>> {
  using type = cuda::KernelHandle;
};
template <>
struct Ours<std::remove_pointer_t<CUfunction>> {
  using type = cuda::FunctionHandle;
};
template <>
struct Ours<std::remove_pointer_t<CUgraph>> {
  using type = cuda::GraphHandle;
};
template <>
struct Ours<std::remove_pointer_t<CUgraphExec>> {
  using type = cuda::GraphExecHandle;
};
template <>
struct Ours<CUtensorMap> {
  using type = cuda::TensorMap;
};
template <>
struct Ours<CUlaunchConfig> {
  using type = cuda::LaunchConfig;
};

}  // namespace
}  // namespace diecast::testing

namespace diecast {
namespace {

using testing::Ours;

// The names stand beside ## alone: cuda.h makes macros of some (cuMemAlloc is cuMemAlloc_v2).
#define DIECAST_SAME(name, version, needed, parameters)                                           \
  static_assert(std::is_same_v<typename Ours<PFN_##name##_v##version>::type, cuda::name##_type*>, \
                #name " is declared otherwise in cudaTypedefs.h");
DIECAST_CUDA_FUNCTIONS(DIECAST_SAME)

TEST(DriverDeclarations, FindersAreNvidias) {
  // driver.cpp calls these two through these types.
  static_assert(std::is_same_v<Ours<PFN_cuGetProcAddress_v12000>::type,
                               int (*)(const char*, void**, int, std::uint64_t, int*)>);
  static_assert(std::is_same_v<Ours<PFN_cuGetProcAddress_v11030>::type,
                               int (*)(const char*, void**, int, std::uint64_t)>);
}

TEST(DriverDeclarations, ConstantsAreNvidias) {
  EXPECT_EQ(cuda::tensor_map_f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(cuda::tensor_map_bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(cuda::interleave_none, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(cuda::swizzle_128_bytes, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(cuda::promotion_256_bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  EXPECT_EQ(cuda::fill_zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT_EQ(cuda::success, CUDA_SUCCESS);
  EXPECT_EQ(cuda::invalid_value, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuda::stub_library, CUDA_ERROR_STUB_LIBRARY);
  EXPECT_EQ(cuda::no_device, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(cuda::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuda::capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuda::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(cuda::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(cuda::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(cuda::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(cuda::max_shared_memory_per_block_optin,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(cuda::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(cuda::non_portable_cluster_size_allowed,
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  EXPECT_EQ(cuda::stream_non_blocking, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuda::capture_status_none, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(cuda::capture_status_active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuda::capture_global, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(cuda::capture_thread_local, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(cuda::capture_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuda::function_loaded, CU_FUNCTION_LOADING_STATE_LOADED);
  EXPECT_EQ(cuda::legacy_stream, static_cast<std::uint64_t>(CU_GET_PROC_ADDRESS_LEGACY_STREAM));
  EXPECT_EQ(cuda::attribute_cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(cuda::attribute_cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(cuda::attribute_programmatic_stream_serialization,
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
}

TEST(DriverDeclarations, LaunchAttributeHasNvidiasLayout) {
  EXPECT_EQ(sizeof(cuda::LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(alignof(cuda::LaunchAttribute), alignof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, id), offsetof(CUlaunchAttribute, id));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(cuda::LaunchAttribute::value), sizeof(CUlaunchAttributeValue));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, value.cluster.y),
            offsetof(CUlaunchAttribute, value.clusterDim.y));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, value.cluster.z),
            offsetof(CUlaunchAttribute, value.clusterDim.z));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, value.flag),
            offsetof(CUlaunchAttribute, value.cooperative));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, value.flag),
            offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
}

TEST(DriverDeclarations, LaunchConfigHasNvidiasLayout) {
  EXPECT_EQ(sizeof(cuda::LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(alignof(cuda::LaunchConfig), alignof(CUlaunchConfig));
#define EXPECT_SAME_PLACE(ours, theirs) \
  EXPECT_EQ(offsetof(cuda::LaunchConfig, ours), offsetof(CUlaunchConfig, theirs))
  EXPECT_SAME_PLACE(grid_x, gridDimX);
  EXPECT_SAME_PLACE(grid_y, gridDimY);
  EXPECT_SAME_PLACE(grid_z, gridDimZ);
  EXPECT_SAME_PLACE(block_x, blockDimX);
  EXPECT_SAME_PLACE(block_y, blockDimY);
  EXPECT_SAME_PLACE(block_z, blockDimZ);
  EXPECT_SAME_PLACE(shared_bytes, sharedMemBytes);
  EXPECT_SAME_PLACE(stream, hStream);
  EXPECT_SAME_PLACE(attributes, attrs);
  EXPECT_SAME_PLACE(attribute_count, numAttrs);
#undef EXPECT_SAME_PLACE
}

}  // namespace
}  // namespace diecast

#else

TEST(DriverDeclarations, AreNvidias) {
  GTEST_SKIP() << "no cuda.h and cudaTypedefs.h of CUDA 12.4 or newer on the include path";
}

#endif
