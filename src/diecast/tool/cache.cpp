// diecast cache ls|path|stats: what the cache holds; prune, clear, verify and explain stand in
// files of their own.
#include <diecast/base/text.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <map>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

// Summaries of all layers, with the root each stands in.
struct Listed {
  std::string root;
  EntrySummary entry;
};

Result<std::vector<Listed>> list_all(CacheRoots& roots) {
  std::vector<Listed> out;
  for (const CacheRoots::Layer& layer : roots.layers()) {
    if (layer.directory) {
      DIECAST_TRY(auto entries, layer.directory->list());
      for (EntrySummary& entry : entries) out.push_back({layer.setting.path, std::move(entry)});
    } else {
      layer.bundle->read_all([&](const Bundle::Stored& stored) {
        const Artifact& a = stored.decoded.artifact;
        out.push_back({layer.setting.path,
                       {stored.key, a.spelling, stored.compiler, a.target, stored.file.size(), 0}});
      });
    }
  }
  return out;
}

Result<int> ls(bool json) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  DIECAST_TRY(const auto entries, list_all(*roots));
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"key", "bytes", "specialization", "compiler"});
  for (const auto& [root, entry] : entries) {
    table.add(
        {entry.digest.hex().substr(0, 12), cat(entry.file_bytes), entry.spelling, entry.compiler});
    out.push_back({{"key", entry.digest.hex()},
                   {"bytes", entry.file_bytes},
                   {"specialization", entry.spelling},
                   {"compiler", entry.compiler},
                   {"root", root}});
  }
  if (json) {
    print(out.dump(2));
  } else {
    table.print();
  }
  return 0;
}

// Those in use, in one line; a root that is left out makes it fail (open_runtime says why).
Result<int> path() {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  print(roots->description());
  return runtime->refused_roots().empty() ? 0 : 1;
}

// What lies in the writable root besides whole entries: every reason for which a file is a miss.
Result<std::map<std::string, std::uint64_t>> faults_of(DiskCache& cache) {
  std::map<std::string, std::uint64_t> out;
  DIECAST_CHECK(cache.read_all([&](const StoredEntry& stored) {
    ++out[std::string(entry_fault_name(stored.decoded.fault))];
  }));
  out.erase("none");
  return out;
}

// The sums of the processes that have ended.
void print_counts(const Counts& counts) {
  if (counts.empty()) return;
  Table table({"since the root was made", "count"});
  for (const auto& [name, count] : counts) table.add({name, cat(count)});
  print("");
  table.print();
}

Result<int> stats(bool json) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  DIECAST_TRY(const auto entries, list_all(*roots));
  struct Sum {
    std::uint64_t entries = 0, bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const auto& [root, entry] : entries) {
    Sum& sum = sums[{root, entry.compiler}];
    ++sum.entries;
    sum.bytes += entry.file_bytes;
  }
  nlohmann::ordered_json left_out = nlohmann::ordered_json::array();
  for (const auto& [name, error] : runtime->refused_roots())
    left_out.push_back({{"root", name}, {"what", error.what}, {"fix", error.fix}});
  nlohmann::ordered_json out = {{"roots", roots->description()},
                                {"left_out", left_out},
                                {"budget", RuntimeOptions::from_environment().cache_bytes},
                                {"compilers", nlohmann::ordered_json::array()},
                                {"not_entries", nlohmann::ordered_json::object()}};
  Table table({"root", "compiler", "entries", "size"});
  for (const auto& [name, sum] : sums) {
    table.add({name.first, name.second, cat(sum.entries), human_bytes(sum.bytes)});
    out["compilers"].push_back({{"root", name.first},
                                {"compiler", name.second},
                                {"entries", sum.entries},
                                {"bytes", sum.bytes}});
  }
  if (DiskCache* const cache = roots->writable()) {
    DIECAST_TRY(const auto faults, faults_of(*cache));
    for (const auto& [fault, count] : faults) {
      table.add({cache->root(), cat("not an entry: ", fault), cat(count), ""});
      out["not_entries"][fault] = count;
    }
  }
  const Counts counts = roots->writable() ? roots->writable()->counts() : Counts();
  out["counts"] = counts;
  if (json) {
    print(out.dump(2));
    return 0;
  }
  table.print();
  print_counts(counts);
  return 0;
}

}  // namespace

Result<CacheRoots*> roots_of(Runtime& runtime) {
  if (runtime.cache() != nullptr) return runtime.cache();
  const auto& refused = runtime.refused_roots();
  if (refused.empty()) {
    return Error{ErrorCode::invalid_argument, "there is no cache: it is off",
                 "set DIECAST_CACHE to an absolute directory of your own (and DIECAST_CACHE_POLICY "
                 "to auto)"};
  }
  Error first = refused[0].error;
  first.what = cat("there is no cache: ", first.what);
  return first;
}

Result<DiskCache*> writable_of(Runtime& runtime) {
  DIECAST_TRY(CacheRoots* const roots, roots_of(runtime));
  DiskCache* const root = roots->writable();
  if (root != nullptr && root->writable()) return root;
  const auto none = [](std::string what, std::string fix) {
    return Error{ErrorCode::invalid_argument, cat("no cache root may be written: ", what), fix};
  };
  if (RuntimeOptions::from_environment().cache_policy == CachePolicy::read_only)
    return none("the cache policy is read-only", "set DIECAST_CACHE_POLICY to auto");
  if (root != nullptr) {
    return none(cat(root->root(), " refuses writing"),
                cat("look at its owner, permissions and mount (ls -ld ", root->root(),
                    "), or name another rw: root in DIECAST_CACHE"));
  }
  for (const auto& [name, error] : runtime.refused_roots()) {
    if (name.starts_with("rw:")) return none(error.what, error.fix);
  }
  return none(runtime.cache_state(), "add rw:DIRECTORY, of your own, to DIECAST_CACHE");
}

Command add_cache(CLI::App& app) {
  auto* command = app.add_subcommand("cache", "What the cache holds, and keeping it in order");
  command->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  auto* list = command->add_subcommand("ls", "Every entry");
  list->add_flag("--json", *json, "For programs");
  auto* where = command->add_subcommand("path", "The roots");
  auto* sums = command->add_subcommand(
      "stats", "Entries and bytes by root and compiler, what is no entry, and what was done");
  sums->add_flag("--json", *json, "For programs");
  const std::vector<Command> more = {add_cache_prune(*command),
                                     add_cache_clear(*command),
                                     add_cache_verify(*command),
                                     add_cache_explain(*command),
                                     Command{list, [=] { return ls(*json); }},
                                     Command{where, path},
                                     Command{sums, [=] { return stats(*json); }}};
  return {command, [more]() -> Result<int> {
            for (const Command& one : more) {
              if (one.app->parsed()) return one.run();
            }
            return 2;
          }};
}

}  // namespace diecast::tool
