// The runtime of a subcommand: what its cache cannot use is said on standard error, and it goes on.
#pragma once

#include <diecast/runtime/runtime.h>

#include <memory>

namespace diecast::tool {

// Errors: as Runtime::create.
Result<std::shared_ptr<Runtime>> open_runtime(
    RuntimeOptions options = RuntimeOptions::from_environment());

// After compiling: io_error where a kernel could not be kept in the writable root.
Result<void> check_kept(Runtime& runtime);

}  // namespace diecast::tool
