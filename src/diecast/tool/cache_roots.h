// What the cache subcommands share: the roots, and the one that may be written.
#pragma once

#include <diecast/cache/cache_roots.h>
#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>

#include <memory>

namespace diecast::tool {

Result<CacheRoots*> roots_of(Runtime& runtime);
Result<DiskCache*> writable_of(Runtime& runtime);

// `diecast cache prune|clear|verify|explain`, each added to `cache`.
Command add_cache_prune(CLI::App& cache);
Command add_cache_clear(CLI::App& cache);
Command add_cache_verify(CLI::App& cache);
Command add_cache_explain(CLI::App& cache);

}  // namespace diecast::tool
