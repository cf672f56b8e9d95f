// NVRTC's functions as diecast declares them, found at run time in libnvrtc, so that no CUDA header
// is needed to build. A test holds every declaration against NVIDIA's nvrtc.h where it is
// installed.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/library.h>
#include <diecast/compile/nvrtc.h>

#include <cstddef>
#include <string>
#include <vector>

// NVRTC's own name for what a program handle points at: only a pointer to it ever passes.
struct _nvrtcProgram;

namespace diecast::nvrtc {

using Program = _nvrtcProgram*;

// nvrtcResult has an unsigned int's size in NVIDIA's header; values beyond its enumerators come
// from newer libraries.
enum Status : unsigned int {
  kSuccess = 0,
  kOutOfMemory = 1,
  kCompilation = 6,
  kBuiltinOperationFailure = 7,
};

// X(name, result type, parameter types): the functions diecast calls; all are in 12.0 and later.
#define DIECAST_NVRTC_FUNCTIONS(X)                                                     \
  X(nvrtcGetErrorString, const char*, (Status))                                        \
  X(nvrtcVersion, Status, (int*, int*))                                                \
  X(nvrtcGetNumSupportedArchs, Status, (int*))                                         \
  X(nvrtcGetSupportedArchs, Status, (int*))                                            \
  X(nvrtcCreateProgram, Status,                                                        \
    (Program*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(nvrtcDestroyProgram, Status, (Program*))                                           \
  X(nvrtcCompileProgram, Status, (Program, int, const char* const*))                   \
  X(nvrtcGetCUBINSize, Status, (Program, std::size_t*))                                \
  X(nvrtcGetCUBIN, Status, (Program, char*))                                           \
  X(nvrtcGetPTXSize, Status, (Program, std::size_t*))                                  \
  X(nvrtcGetPTX, Status, (Program, char*))                                             \
  X(nvrtcGetProgramLogSize, Status, (Program, std::size_t*))                           \
  X(nvrtcGetProgramLog, Status, (Program, char*))

struct Functions {
#define DIECAST_NVRTC_FUNCTION(name, result, parameters) result(*name) parameters = nullptr;
  DIECAST_NVRTC_FUNCTIONS(DIECAST_NVRTC_FUNCTION)
#undef DIECAST_NVRTC_FUNCTION
};

// An opened libnvrtc that can compile.
struct Api {
  Library library;
  Functions call;
  std::string path;  // the file, symbolic links resolved
  int major = 0, minor = 0;
  std::vector<int> archs;  // compute capabilities times ten it builds for, ascending
  std::string build;       // "<8 hex of libnvrtc's build id>-<8 hex of its builtins'>"

  std::string version() const;  // "13.0"
  // "NVRTC_ERROR_COMPILATION (6)"
  std::string status_text(Status status) const;
};

// Takes an opened library's functions, asks its version and architectures and looks for the
// builtins library beside it (NVRTC opens that only when it compiles, and then fails). Errors:
// compiler_unavailable saying what is missing from which file.
Result<Api> bind(Library library);

// The first libnvrtc of the search that can be bound. Errors: compiler_unavailable listing every
// place tried with what was wrong there.
Result<Api> find(const NvrtcSearch& search);

}  // namespace diecast::nvrtc
