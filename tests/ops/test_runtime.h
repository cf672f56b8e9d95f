// The runtime of the variant tests: one a process, its cache in the build folder, so that a second
// run of the tests compiles nothing again (the key covers every byte that matters).
#pragma once

#include <diecast/runtime/runtime.h>

#include <memory>
#include <string>

namespace diecast {

// Another one on the same cache, for a test that freezes it.
inline std::shared_ptr<Runtime> new_test_runtime() {
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.cache = std::string(DIECAST_BUILD_DIR) + "/test-cache";
  return Runtime::create(std::move(options)).value();
}

inline std::shared_ptr<Runtime> test_runtime() {
  static const std::shared_ptr<Runtime> runtime = new_test_runtime();
  return runtime;
}

}  // namespace diecast
