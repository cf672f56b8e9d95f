// NVRTC (12.x and 13.x), which is found and opened at run time and never linked; no CUDA header is
// needed. It runs with --no-cache and --no-source-include, so it reads nothing but the source.
#pragma once

#include <diecast/compile/compiler.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct NvrtcSearch {
  std::string path;  // DIECAST_NVRTC: this file only, if set
  std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12"};  // best first
  std::vector<std::string> directories;  // absolute: a toolkit's lib64, folders of wheels
  // Takes DIECAST_NVRTC, CUDA_HOME, CUDA_PATH, the usual toolkit folders and NVIDIA's Python wheels
  // beside the interpreter in use (VIRTUAL_ENV).
  static NvrtcSearch from_environment();
};

// Says whether a variable of the environment changes what NVRTC makes of a source, or could in some
// version. Compilers under other values of these have other identities.
bool changes_nvrtc_code(std::string_view variable);

// Opens NVRTC. If `path` is set it looks nowhere else. Otherwise it tries a library of `names` that
// is in the process already, `names` in the loader's own search, `names` in `directories`. Errors:
// compiler_unavailable listing every place tried and how to install it.
Result<std::shared_ptr<Compiler>> open_nvrtc(const NvrtcSearch& search);

}  // namespace diecast
