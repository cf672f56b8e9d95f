// diecast cache stats: of each root its entries and bytes by compiler, what else has an entry's
// name, and what the processes did that used it.
#include <diecast/base/text.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace diecast::tool {
namespace {

struct Sum {
  std::uint64_t entries = 0, bytes = 0;
};

struct RootSums {
  const CacheRootSetting* setting;
  Sum all;
  std::map<std::string, Sum> compilers;
  std::map<std::string, std::uint64_t> not_entries;  // by the reason for which a file is a miss
  Counts counts;  // of the processes that have ended; a bundle has none, as nobody writes it
};

Result<RootSums> sums_of(const CacheRoots::Layer& layer) {
  RootSums out{&layer.setting, {}, {}, {}, {}};
  DIECAST_CHECK(visit_entries(layer, [&](const FoundEntry& entry) {
    if (entry.decoded.fault != EntryFault::none) {
      ++out.not_entries[std::string(entry_fault_name(entry.decoded.fault))];
      return;
    }
    for (Sum* sum : {&out.all, &out.compilers[entry.compiler]}) {
      ++sum->entries;
      sum->bytes += entry.bytes.size();
    }
  }));
  if (layer.directory) out.counts = layer.directory->counts();
  return out;
}

void print_sums(std::span<const RootSums> roots) {
  Table table({"root", "compiler", "entries", "size"});
  for (const RootSums& root : roots) {
    const std::string name = root_name(*root.setting);
    for (const auto& [compiler, sum] : root.compilers)
      table.add({name, compiler, cat(sum.entries), human_bytes(sum.bytes)});
    for (const auto& [fault, count] : root.not_entries)
      table.add({name, cat("not an entry: ", fault), cat(count), ""});
    if (root.compilers.empty() && root.not_entries.empty()) table.add({name, "", "0", "0 B"});
  }
  table.print();
}

// Of the roots that have counts, a column each.
void print_counts(std::span<const RootSums> roots) {
  std::vector<std::string> header = {"since the root was made"};
  std::set<std::string> names;
  for (const RootSums& root : roots) {
    if (!root.counts.empty()) header.push_back(root.setting->path);
    for (const auto& [name, count] : root.counts) names.insert(name);
  }
  if (names.empty()) return;
  Table table(header);
  for (const std::string& name : names) {
    std::vector<std::string> row = {name};
    for (const RootSums& root : roots) {
      const auto found = root.counts.find(name);
      if (!root.counts.empty())
        row.push_back(found == root.counts.end() ? "0" : cat(found->second));
    }
    table.add(std::move(row));
  }
  print("");
  table.print();
}

nlohmann::ordered_json as_json(std::span<const RootSums> roots) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const RootSums& root : roots) {
    nlohmann::ordered_json one = json_of(*root.setting),
                           compilers = nlohmann::ordered_json::array();
    for (const auto& [compiler, sum] : root.compilers) {
      compilers.push_back({{"compiler", compiler}, {"entries", sum.entries}, {"bytes", sum.bytes}});
    }
    one.update({{"entries", root.all.entries},
                {"bytes", root.all.bytes},
                {"compilers", compilers},
                {"not_entries", root.not_entries},
                {"counts", root.counts}});
    out.push_back(std::move(one));
  }
  return out;
}

Result<int> stats(bool json) {
  DIECAST_TRY(const auto runtime, open_runtime_to_look());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  std::vector<RootSums> sums;
  for (const CacheRoots::Layer& layer : roots->layers()) {
    DIECAST_TRY(sums.emplace_back(), sums_of(layer));
  }
  if (json) {
    print_json({{"roots", as_json(sums)},
                {"left_out", left_out_of(*runtime)},
                {"budget", RuntimeOptions::from_environment().cache_bytes}});
  } else {
    print_sums(sums);
    print_counts(sums);
  }
  return 0;
}

}  // namespace

Command add_cache_stats(CLI::App& cache) {
  auto* command = cache.add_subcommand(
      "stats", "Entries and bytes by root and compiler, what is no entry, and what was done");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For programs");
  return {command, [json] { return stats(*json); }};
}

}  // namespace diecast::tool
