// The runtime of the tests that run kernels: one a process. Its cache is in the build folder, or
// where DIECAST_TEST_CACHE says, so that a second run of the tests, or another build's, compiles
// nothing again (the key covers every byte that matters).
#pragma once

#include <diecast/runtime/runtime.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace diecast {

inline RuntimeOptions test_options() {
  RuntimeOptions options = RuntimeOptions::from_environment();
  const char* shared = std::getenv("DIECAST_TEST_CACHE");
  options.cache = shared != nullptr ? shared : DIECAST_BUILD_DIR "/test-cache";
  return options;
}

// Another one on the same cache, for a test that freezes it.
inline std::shared_ptr<Runtime> new_test_runtime() {
  return Runtime::create(test_options()).value();
}

// One that has a template of tests/ops too: the other tests' has the built-in ones alone.
inline std::shared_ptr<Runtime> test_runtime_with(const std::string& file) {
  auto runtime = new_test_runtime();
  runtime->add(std::string(DIECAST_SOURCE_DIR "/tests/ops/").append(file)).value();
  return runtime;
}

inline std::shared_ptr<Runtime> test_runtime() {
  static const std::shared_ptr<Runtime> runtime = new_test_runtime();
  return runtime;
}

}  // namespace diecast
