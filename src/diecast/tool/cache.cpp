// diecast cache ls|path: what the cache holds and where; stats, prune, clear, verify and explain
// stand in files of their own.
#include <diecast/base/text.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

// Summaries of all layers, with the root each stands in.
struct Listed {
  const CacheRootSetting* root;
  EntrySummary entry;
};

Result<std::vector<Listed>> list_all(CacheRoots& roots) {
  std::vector<Listed> out;
  for (const CacheRoots::Layer& layer : roots.layers()) {
    if (layer.directory) {
      DIECAST_TRY(auto entries, layer.directory->list());
      for (EntrySummary& entry : entries) out.push_back({&layer.setting, std::move(entry)});
    } else {
      layer.bundle->read_all([&](const Bundle::Stored& stored) {
        if (stored.decoded.fault != EntryFault::none) return;
        const Artifact& a = stored.decoded.artifact;
        out.push_back({&layer.setting,
                       {stored.key, a.spelling, stored.compiler, a.target, stored.file.size(), 0}});
      });
    }
  }
  return out;
}

Result<int> ls(bool json) {
  DIECAST_TRY(const auto runtime, open_runtime_to_look());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  DIECAST_TRY(const auto entries, list_all(*roots));
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"key", "bytes", "specialization", "compiler"});
  for (const auto& [root, entry] : entries) {
    table.add(
        {entry.digest.hex().substr(0, 12), cat(entry.file_bytes), entry.spelling, entry.compiler});
    nlohmann::ordered_json one = {{"key", entry.digest.hex()},
                                  {"bytes", entry.file_bytes},
                                  {"specialization", entry.spelling},
                                  {"compiler", entry.compiler}};
    one.update(json_of(*root));
    out.push_back(std::move(one));
  }
  if (json) {
    print_json(out);
  } else {
    table.print();
  }
  return 0;
}

// Those in use, in one line; a root that is left out makes it fail (open_runtime says why).
Result<int> path(bool json) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  if (json) {
    nlohmann::ordered_json used = nlohmann::ordered_json::array();
    for (const CacheRoots::Layer& layer : roots->layers()) used.push_back(json_of(layer.setting));
    const nlohmann::ordered_json left_out = left_out_of(*runtime);
    print_json({{"roots", used}, {"left_out", left_out}});
  } else {
    print(roots->description());
  }
  return runtime->refused_roots().empty() ? 0 : 1;
}

}  // namespace

Command add_cache(CLI::App& app) {
  auto* command = app.add_subcommand("cache", "What the cache holds, and keeping it in order");
  command->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  auto* list = command->add_subcommand("ls", "Every entry");
  auto* where = command->add_subcommand("path", "The roots");
  for (auto* one : {list, where}) one->add_flag("--json", *json, "For programs");
  const std::vector<Command> more = {Command{list, [=] { return ls(*json); }},
                                     Command{where, [=] { return path(*json); }},
                                     add_cache_stats(*command),
                                     add_cache_prune(*command),
                                     add_cache_clear(*command),
                                     add_cache_verify(*command),
                                     add_cache_explain(*command)};
  return {command, [more]() -> Result<int> {
            for (const Command& one : more) {
              if (one.app->parsed()) return one.run();
            }
            return 2;
          }};
}

}  // namespace diecast::tool
