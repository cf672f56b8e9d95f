// The runtime of a subcommand: what its cache cannot use is said on standard error, and it goes on.
#pragma once

#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>

#include <memory>

namespace diecast::tool {

// Errors: as Runtime::create.
Result<std::shared_ptr<Runtime>> open_runtime(
    RuntimeOptions options = RuntimeOptions::from_environment());

// What the environment says, or with --debug a debug build in any case.
RuntimeOptions options_of_build(bool debug);
CLI::Option* add_debug(CLI::App& command, bool& debug);

// For what only looks at the cache: roots that were named and are missing are left out, not made.
Result<std::shared_ptr<Runtime>> open_runtime_to_look();

// Errors: as Runtime::add and Runtime::add_header; invalid_argument for a header without its name.
Result<void> add_own_to(Runtime& runtime, const Own& own);

// Why kernels are not in a root: the disk's last refusal, or what one write says now.
Error not_kept(DiskCache& root, std::uint64_t kernels);

// After compiling: not_kept() where a kernel could not be kept in any root.
Result<void> check_kept(Runtime& runtime);
// The same on standard error, for what has done its work all the same.
void tell_unless_kept(Runtime& runtime);

}  // namespace diecast::tool
