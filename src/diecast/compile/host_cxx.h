// The host's C++ compiler as the compiler of the host targets: g++ or clang++, run as a child
// process on a private temporary directory.
#pragma once

#include <diecast/compile/compiler.h>

#include <memory>
#include <string>

namespace diecast {

struct HostCxxOptions {
  std::string compiler;   // DIECAST_CXX, else the first of c++, g++, clang++ in PATH
  std::string sanitizer;  // "address,undefined" in sanitizer builds; part of the identity
  std::string id{};       // DIECAST_CXX_ID: whatever else tells two compilers apart
  static HostCxxOptions from_environment();
};

// Opens the compiler. Errors: compiler_unavailable naming what was tried and the package to
// install; io_error if no descriptor, process or memory is left to start it with.
Result<std::shared_ptr<Compiler>> open_host_cxx(const HostCxxOptions& options);

}  // namespace diecast
