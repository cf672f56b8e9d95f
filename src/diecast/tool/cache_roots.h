// What the cache and bundle subcommands share: the roots, the one that may be written, every entry
// of one, and how --json spells them.
#pragma once

#include <diecast/cache/cache_roots.h>
#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>

#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace diecast::tool {

Result<CacheRoots*> roots_of(Runtime& runtime);
Result<DiskCache*> writable_of(Runtime& runtime);

// A file that has an entry's name, or a bundle's entry, read and checked.
struct FoundEntry {
  std::string file;  // the bundle's own path
  std::string key;   // 32 digits
  std::string compiler;
  const DecodedEntry& decoded;
  ByteSpan bytes;
};
using EntryVisitor = std::function<void(const FoundEntry&)>;

// Every one of a root, or of a bundle. Errors: io_error.
Result<void> visit_entries(const CacheRoots::Layer& layer, const EntryVisitor& visit);
void visit_entries(Bundle& bundle, const EntryVisitor& visit);

// "damaged: FILE: bad_checksum", with the key where FILE is a bundle.
std::string damage_line(const FoundEntry& entry);

// {"root": its path, "kind": "rw", "ro" or "bundle"}
nlohmann::ordered_json json_of(const CacheRootSetting& root);
// {"code", "what", "fix"}
nlohmann::ordered_json json_of(const Error& error);
// {"file", "key", "compiler", "fault"}
nlohmann::ordered_json json_of(const FoundEntry& damaged);
// Of each root that is left out: what json_of gives of it and of the error.
nlohmann::ordered_json left_out_of(const Runtime& runtime);

// `diecast cache stats|prune|clear|verify|explain`, each added to `cache`.
Command add_cache_stats(CLI::App& cache);
Command add_cache_prune(CLI::App& cache);
Command add_cache_clear(CLI::App& cache);
Command add_cache_verify(CLI::App& cache);
Command add_cache_explain(CLI::App& cache);

}  // namespace diecast::tool
