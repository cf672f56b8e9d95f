// The CUDA driver's functions, found at run time through cuGetProcAddress in libcuda.so.1; declared
// here by diecast, so that neither a driver nor a CUDA header is needed to build. A test holds every
// declaration against NVIDIA's cuda.h where it is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <diecast/base/error.h>
#include <diecast/base/library.h>

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

}  // namespace diecast::cuda

namespace diecast {

// The table of function pointers is completed in this header by the launch floor's author.
}  // namespace diecast
