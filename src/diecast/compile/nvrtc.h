// NVRTC, found and opened at run time (12.x and 13.x), never linked; no CUDA header is needed.
// Runs with --no-cache and --no-source-include: nothing but the source's own bytes is read.
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
  // From the environment: DIECAST_NVRTC, CUDA_HOME, CUDA_PATH, the usual toolkit folders and
  // NVIDIA's Python wheels beside the interpreter in use (VIRTUAL_ENV).
  static NvrtcSearch from_environment();
};

// Whether a variable of the environment changes what NVRTC makes of a source, or could in some
// version. Compilers under other values of these have other identities.
bool changes_nvrtc_code(std::string_view variable);

// Order: `path` (then nothing else); a library of `names` that is in the process already; `names`
// in the loader's own search; `names` in `directories`. Errors: compiler_unavailable listing every
// place tried and how to install it.
Result<std::shared_ptr<Compiler>> open_nvrtc(const NvrtcSearch& search);

}  // namespace diecast
