// The CUDA driver's functions, which are found at run time through cuGetProcAddress in
// libcuda.so.1. diecast declares them here, so that neither a driver nor a CUDA header is needed to
// build. A test compares every declaration with NVIDIA's cuda.h where that is installed.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/library.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace diecast::cuda {

using Result = int;  // CUresult
using Device = int;
using DevicePointer = unsigned long long;
struct ContextHandle;
struct StreamHandle;
struct EventHandle;
struct LibraryHandle;
struct KernelHandle;
struct FunctionHandle;
struct GraphHandle;
struct GraphExecHandle;

// The CUresults that this code distinguishes; every other one is passed on with its name.
inline constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, stub_library = 34,
                        no_device = 100, invalid_context = 201, not_found = 500,
                        capture_implicit = 906;

// CUdevice_attribute
inline constexpr int max_threads_per_block = 1, multiprocessor_count = 16,
                     compute_capability_major = 75, compute_capability_minor = 76,
                     max_shared_memory_per_block_optin = 97;
// CUfunction_attribute
inline constexpr int max_dynamic_shared_size_bytes = 8, non_portable_cluster_size_allowed = 14;
// CUstream_flags, CUstreamCaptureStatus, CUstreamCaptureMode (whose unsafe calls are refused while
// a stream captures), CUfunctionLoadingState, CUdriverProcAddress_flags
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr int capture_status_none = 0, capture_status_active = 1;
inline constexpr int capture_global = 0, capture_thread_local = 1, capture_relaxed = 2;
inline constexpr int function_loaded = 1;
inline constexpr std::uint64_t legacy_stream = 1, last_default_stream = 2;
// CUlaunchAttributeID
inline constexpr int attribute_cooperative = 2, attribute_cluster_dimension = 4,
                     attribute_programmatic_stream_serialization = 6;

struct LaunchAttribute {  // CUlaunchAttribute
  int id;
  alignas(8) union {
    char pad[64];
    int flag;  // cooperative, programmatic stream serialization
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  StreamHandle* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct alignas(64) TensorMap {  // CUtensorMap
  std::uint64_t words[16];
};
// CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
// CUtensorMapFloatOOBfill
inline constexpr int tensor_map_f16 = 6, tensor_map_bf16 = 9, interleave_none = 0,
                     swizzle_128_bytes = 3, promotion_256_bytes = 3, fill_zeros = 0;

}  // namespace diecast::cuda

// X(name, version, needed, parameters): `version` is the CUDA version (12.4 = 12040) that gave the
// function the parameters declared here. cuGetProcAddress is asked for that version, so that a
// later driver's other form of the name (cuCtxGetDevice of 13.0) is never taken for it. A driver
// without a `needed` function is refused. If another function is missing, its caller says what
// holds then.
// clang-format off
#define DIECAST_CUDA_FUNCTIONS(X)                                                                 \
  X(cuInit, 2000, true, (unsigned flags))                                                         \
  X(cuDriverGetVersion, 2020, true, (int* version))                                               \
  X(cuGetErrorName, 6000, true, (Result code, const char** name))                                 \
  X(cuDeviceGetCount, 2000, true, (int* count))                                                   \
  X(cuDeviceGet, 2000, true, (Device* device, int ordinal))                                       \
  X(cuDeviceGetName, 2000, true, (char* name, int length, Device device))                         \
  X(cuDeviceGetAttribute, 2000, true, (int* value, int attribute, Device device))                 \
  X(cuDeviceTotalMem, 3020, true, (std::size_t* bytes, Device device))                            \
  X(cuDevicePrimaryCtxRetain, 7000, true, (ContextHandle** context, Device device))               \
  X(cuCtxGetCurrent, 4000, true, (ContextHandle** context))                                       \
  X(cuCtxGetDevice, 2000, true, (Device* device))                                                 \
  X(cuCtxGetId, 12000, false, (ContextHandle* context, unsigned long long* id))                   \
  X(cuCtxPushCurrent, 4000, true, (ContextHandle* context))                                       \
  X(cuCtxPopCurrent, 4000, true, (ContextHandle** context))                                       \
  X(cuMemAlloc, 3020, true, (DevicePointer* memory, std::size_t bytes))                           \
  X(cuMemFree, 3020, true, (DevicePointer memory))                                                \
  X(cuMemcpyHtoDAsync, 3020, true,                                                                \
    (DevicePointer to, const void* from, std::size_t bytes, StreamHandle* stream))                \
  X(cuMemcpyDtoHAsync, 3020, true,                                                                \
    (void* to, DevicePointer from, std::size_t bytes, StreamHandle* stream))                      \
  X(cuMemcpyDtoDAsync, 3020, true,                                                                \
    (DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle* stream))              \
  X(cuMemsetD8Async, 3020, true,                                                                  \
    (DevicePointer memory, unsigned char byte, std::size_t bytes, StreamHandle* stream))          \
  X(cuStreamCreate, 2000, true, (StreamHandle** stream, unsigned flags))                          \
  X(cuStreamDestroy, 4000, true, (StreamHandle* stream))                                          \
  X(cuStreamSynchronize, 2000, true, (StreamHandle* stream))                                      \
  X(cuStreamGetCtx, 9020, true, (StreamHandle* stream, ContextHandle** context))                  \
  X(cuStreamIsCapturing, 10000, true, (StreamHandle* stream, int* status))                        \
  X(cuStreamBeginCapture, 10010, true, (StreamHandle* stream, int mode))                          \
  X(cuStreamEndCapture, 10000, true, (StreamHandle* stream, GraphHandle** graph))                 \
  X(cuGraphInstantiateWithFlags, 11040, true,                                                     \
    (GraphExecHandle** exec, GraphHandle* graph, unsigned long long flags))                       \
  X(cuGraphLaunch, 10000, true, (GraphExecHandle* exec, StreamHandle* stream))                    \
  X(cuGraphExecDestroy, 10000, true, (GraphExecHandle* exec))                                     \
  X(cuGraphDestroy, 10000, true, (GraphHandle* graph))                                            \
  X(cuEventCreate, 2000, true, (EventHandle** event, unsigned flags))                             \
  X(cuEventDestroy, 4000, true, (EventHandle* event))                                             \
  X(cuEventRecord, 2000, true, (EventHandle* event, StreamHandle* stream))                        \
  X(cuEventSynchronize, 2000, true, (EventHandle* event))                                         \
  X(cuEventElapsedTime, 2000, true, (float* ms, EventHandle* from, EventHandle* to))              \
  X(cuLibraryLoadData, 12000, true,                                                               \
    (LibraryHandle** library, const void* code, int* jit_options, void** jit_values,              \
     unsigned jit_count, int* library_options, void** library_values, unsigned library_count))    \
  X(cuLibraryGetKernel, 12000, true,                                                              \
    (KernelHandle** kernel, LibraryHandle* library, const char* name))                            \
  X(cuKernelGetFunction, 12000, true, (FunctionHandle** function, KernelHandle* kernel))          \
  X(cuKernelGetParamInfo, 12040, false,                                                           \
    (KernelHandle* kernel, std::size_t index, std::size_t* offset, std::size_t* bytes))           \
  X(cuFuncIsLoaded, 12040, false, (int* state, FunctionHandle* function))                         \
  X(cuFuncLoad, 12040, false, (FunctionHandle* function))                                         \
  X(cuFuncSetAttribute, 9000, true, (FunctionHandle* function, int attribute, int value))         \
  X(cuLaunchKernel, 4000, true,                                                                   \
    (FunctionHandle* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                 \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                 \
     StreamHandle* stream, void** parameters, void** extra))                                      \
  X(cuLaunchKernelEx, 11060, false,                                                               \
    (const LaunchConfig* config, FunctionHandle* function, void** parameters, void** extra))      \
  X(cuTensorMapEncodeTiled, 12000, false,                                                         \
    (TensorMap* map, int type, unsigned rank, void* tensor, const std::uint64_t* extents,         \
     const std::uint64_t* strides, const unsigned* box, const unsigned* steps, int interleave,    \
     int swizzle, int promotion, int fill))
// clang-format on

namespace diecast::cuda {

// The type of each function of the table: cuda::cuInit_type, ...
#define DIECAST_DECLARE(name, version, needed, parameters) using name##_type = Result parameters;
DIECAST_CUDA_FUNCTIONS(DIECAST_DECLARE)
#undef DIECAST_DECLARE

}  // namespace diecast::cuda

namespace diecast {

// The end of the fix of errors about a missing driver or GPU.
inline constexpr const char* kUseHost =
    "or use the host: --target host of the command, open_host_device() in C++, device=\"host\" in "
    "Python";

// An initialised driver. Never unloaded: graphs and contexts of the process outlive any owner.
class Driver {
 public:
  // Opens the library, checks that it is a real driver of CUDA 12.0 or newer, and initialises it. A
  // machine without a GPU is no error here (`has_devices`). Errors: driver_unavailable with the
  // file, the CUresult and a fix.
  static Result<std::shared_ptr<const Driver>> open(const std::string& path);

  // The process's driver, opened once: DIECAST_LIBCUDA if set (ignored in a program that runs with
  // raised rights), else libcuda.so.1. A failure is not remembered: the next call tries again.
  static Result<std::shared_ptr<const Driver>> shared();

  // Makes the error of a failed call: "launching k: cuLaunchKernel returned
  // CUDA_ERROR_ILLEGAL_ADDRESS (700)", with the fix for the code if one is known. It is
  // out_of_memory for CUresult 2, else driver_error.
  Error failure(cuda::Result code, std::string_view function, std::string_view doing) const;
  // "CUDA_ERROR_ILLEGAL_ADDRESS (700)"
  std::string code_name(cuda::Result code) const;

  // CUDA cannot be used in a child that was forked after the driver was initialised. Every entry
  // point asks first, so that no call reaches the driver there. Errors: driver_unavailable.
  static Result<void> usable() {
    if (usable_now()) return {};
    return forked_error();
  }
  static bool usable_now() { return !forked_.load(std::memory_order_relaxed); }

  const std::string& path() const { return path_; }  // the file, symbolic links resolved
  int version() const { return version_; }           // cuDriverGetVersion's form: 13000
  std::string version_text() const;                  // "13.0"
  bool has_devices() const { return has_devices_; }

#define DIECAST_MEMBER(name, version, needed, parameters) cuda::name##_type* name = nullptr;
  DIECAST_CUDA_FUNCTIONS(DIECAST_MEMBER)
#undef DIECAST_MEMBER

 private:
  explicit Driver(Library library) : library_(std::move(library)), path_(library_.path()) {}
  Result<void> find_functions();
  Result<void> check_version();
  Result<void> initialise();
  static Error forked_error();

  static inline std::atomic<bool> forked_ = false;  // set in a child of a process that used CUDA
  Library library_;
  std::string path_;
  int version_ = 0;
  bool has_devices_ = false;
};

}  // namespace diecast
