// diecast cache explain SPELLING: where it is found, or why it is a miss.
#include <diecast/base/text.h>
#include <diecast/cache/explain.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

namespace diecast::tool {
namespace {

std::string shown(const std::string& text) { return text.empty() ? "nothing" : quote(trim(text)); }

void print_miss(const MissReason& reason, const std::string& state) {
  if (reason.own_fault != EntryFault::none) {
    print(cat(
        "its own entry is no good: ", entry_fault_name(reason.own_fault), ", in ", reason.own_root,
        is_damage(reason.own_fault) ? "\nthe next compile of it replaces the file in an rw: root"
                                    : "\n`diecast cache verify` names the file: remove it"));
    return;
  }
  if (reason.root.empty()) {
    print(cat("no entry of this template is among the ", reason.entries, " in ", state));
  } else {
    print(cat("nearest: ", reason.spelling, "\n  in ", reason.root, ", by ", reason.compiler));
    const std::string field =
        reason.line == 0 ? reason.field : cat(reason.field, " (line ", reason.line, ")");
    print(cat("first difference: ", field, "\n  there: ", shown(reason.there),
              "\n  here:  ", shown(reason.here)));
  }
  if (reason.damaged > 0) print(cat(reason.damaged, " damaged; see `diecast cache verify`"));
}

Result<int> explain(const std::vector<std::string>& words_of, const std::vector<std::string>& own) {
  DIECAST_TRY(const auto runtime, open_runtime());
  for (const std::string& path : own) DIECAST_CHECK(runtime->add(path));
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  DIECAST_TRY(const Specialization one, runtime->specialize(join(words_of, " ")));
  DIECAST_TRY(const ArtifactKey key, runtime->key(one));
  const auto compiler = runtime->compiler(one.target());
  const std::string identity = compiler ? (*compiler)->identity() : std::string();
  print(one.spelling());
  print(cat("key ", key.hex(), ", compiler ", identity.empty() ? "not found" : identity));
  if (const auto found =
          roots->find(key, identity, RuntimeOptions::from_environment().cache_compilers)) {
    print(cat("hit: ", found->payload.size(), " bytes by ", found->compiler, " in ",
              runtime->cache_state()));
    return 0;
  }
  print(cat("miss in ", runtime->cache_state()));
  print_miss(explain_miss(*roots, key, identity), runtime->cache_state());
  return 1;
}

}  // namespace

Command add_cache_explain(CLI::App& cache) {
  struct Options {
    std::vector<std::string> words, own;
  };
  auto* command = cache.add_subcommand("explain", "Why a specialization is a hit or a miss");
  auto options = std::make_shared<Options>();
  command->add_option("spelling", options->words, "TEMPLATE NAME=VALUE ... @ TARGET")->required();
  command->add_option("--add", options->own, "A template file of your own")
      ->allow_extra_args(false);
  return {command, [options] { return explain(options->words, options->own); }};
}

}  // namespace diecast::tool
