// diecast cache ls|path|stats: what the cache holds.
#include <map>

#include <nlohmann/json.hpp>

#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

namespace diecast::tool {
namespace {

Result<DiskCache*> cache_of(Runtime& runtime) {
  if (runtime.disk_cache() != nullptr) return runtime.disk_cache();
  return Error{ErrorCode::invalid_argument, cat("there is no cache: ", runtime.cache_state()),
               "set DIECAST_CACHE to an absolute directory of your own"};
}

Result<int> ls(bool json) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  DIECAST_TRY(DiskCache* const cache, cache_of(*runtime));
  DIECAST_TRY(const auto entries, cache->list());
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"key", "bytes", "specialization", "compiler"});
  for (const EntrySummary& entry : entries) {
    table.add({entry.digest.hex().substr(0, 12), cat(entry.file_bytes), entry.spelling, entry.compiler});
    out.push_back({{"key", entry.digest.hex()}, {"bytes", entry.file_bytes},
                   {"specialization", entry.spelling}, {"compiler", entry.compiler}});
  }
  if (json) {
    print(out.dump(2));
  } else {
    table.print();
  }
  return 0;
}

Result<int> path() {
  DIECAST_TRY(const auto runtime, Runtime::create());
  DIECAST_TRY(DiskCache* const cache, cache_of(*runtime));
  print(cache->root());
  return 0;
}

Result<int> stats(bool json) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  DIECAST_TRY(DiskCache* const cache, cache_of(*runtime));
  DIECAST_TRY(const auto entries, cache->list());
  struct Sum {
    std::uint64_t entries = 0, bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for (const EntrySummary& entry : entries) {
    Sum& sum = sums[entry.compiler];
    ++sum.entries;
    sum.bytes += entry.file_bytes;
  }
  nlohmann::ordered_json out = {{"root", cache->root()}, {"compilers", nlohmann::ordered_json::array()}};
  Table table({"compiler", "entries", "size"});
  for (const auto& [compiler, sum] : sums) {
    table.add({compiler, cat(sum.entries), human_bytes(sum.bytes)});
    out["compilers"].push_back({{"compiler", compiler}, {"entries", sum.entries}, {"bytes", sum.bytes}});
  }
  if (json) {
    print(out.dump(2));
  } else {
    print(cache->root());
    table.print();
  }
  return 0;
}

}  // namespace

Command add_cache(CLI::App& app) {
  auto* command = app.add_subcommand("cache", "What the cache holds");
  command->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  auto* list = command->add_subcommand("ls", "Every entry");
  list->add_flag("--json", *json, "For programs");
  auto* where = command->add_subcommand("path", "The root directory");
  auto* sums = command->add_subcommand("stats", "Entries and bytes by compiler");
  sums->add_flag("--json", *json, "For programs");
  return {command, [=] { return list->parsed() ? ls(*json) : where->parsed() ? path() : stats(*json); }};
}

}  // namespace diecast::tool
