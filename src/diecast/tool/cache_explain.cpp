// diecast cache explain SPELLING: where it is found, or why it is a miss.
#include <diecast/base/text.h>
#include <diecast/cache/explain.h>
#include <diecast/compile/log.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/outcomes.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

struct ExplainArguments {
  std::vector<std::string> words;
  Own own;
  bool json = false;
};

// One of two lines that differ: from a little before that on, where much before it is equal, and
// without the blanks around it, unless the difference is one.
std::string shown(std::string_view line, std::string_view other) {
  constexpr std::size_t kBefore = 60;  // of quote()'s 200
  if (line.empty()) return "nothing";
  if (trim(line) != trim(other)) line = trim(line), other = trim(other);
  const auto same = std::ranges::mismatch(line, other).in1 - line.begin();
  std::size_t from = static_cast<std::size_t>(same);
  from = from < 2 * kBefore ? 0 : from - kBefore;
  return cat(from == 0 ? "" : "... ", quote(line.substr(from)));
}

const char* how_to_mend(const MissReason& reason) {
  if (reason.own_in_bundle) return "copy the bundle again from where it was made";
  if (reason.own_fault == EntryFault::unreadable)
    return "`diecast cache verify` names the file: its owner lets others read it by "
           "`chmod -R a+rX` of the root, after each warming";
  return is_damage(reason.own_fault) ? "the next compile of it replaces the file in an rw: root "
                                       "whose folders are yours alone"
                                     : "`diecast cache verify` names the file: remove it";
}

void print_miss(const MissReason& reason, const std::string& state) {
  if (reason.own_fault != EntryFault::none) {
    print(cat("its own entry is no good: ", entry_fault_name(reason.own_fault), ", in ",
              reason.own_root, "\n", how_to_mend(reason)));
    return;
  }
  if (reason.root.empty()) {
    print(cat("no entry of this template is among the ", reason.entries, " in ", state));
  } else {
    print(cat("nearest: ", reason.spelling, "\n  in ", reason.root, ", by ", reason.compiler));
    const std::string field =
        reason.line == 0 ? reason.field : cat(reason.field, " (line ", reason.line, ")");
    print(cat("first difference: ", field, "\n  there: ", shown(reason.there, reason.here),
              "\n  here:  ", shown(reason.here, reason.there)));
  }
  if (reason.damaged > 0) print(cat(reason.damaged, " damaged; see `diecast cache verify`"));
  if (reason.unread)
    print(cat("not all was looked at: ", reason.unread->what, "\n", reason.unread->fix));
}

// "fault" where its own entry is no good, "nearest" where an entry of the template is there.
nlohmann::ordered_json miss_as_json(const MissReason& reason) {
  nlohmann::ordered_json out = {{"entries", reason.entries}, {"damaged", reason.damaged}};
  if (reason.unread) out["unread"] = json_of(*reason.unread);
  if (reason.own_fault != EntryFault::none) {
    out["root"] = reason.own_root;
    out["fault"] = entry_fault_name(reason.own_fault);
  } else if (!reason.root.empty()) {
    out["nearest"] = {{"root", reason.root},         {"specialization", reason.spelling},
                      {"compiler", reason.compiler}, {"field", reason.field},
                      {"line", reason.line},         {"there", reason.there},
                      {"here", reason.here}};
  }
  return out;
}

Result<int> explain(const ExplainArguments& options) {
  DIECAST_TRY(const auto runtime, open_runtime_to_look());
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  DIECAST_TRY(const Specialization one, runtime->specialize(join(options.words, " ")));
  DIECAST_TRY(const ArtifactKey key, runtime->key(one));
  const auto compiler = runtime->compiler(one.target());
  const std::string identity = compiler ? (*compiler)->identity() : std::string();
  const CacheRoots::Layer* layer = nullptr;
  const auto found = roots->find(key, identity, RuntimeOptions::from_environment().cache_compilers,
                                 nullptr, &layer);
  const MissReason reason = found ? MissReason() : explain_miss(*roots, key, identity);
  if (options.json) {
    nlohmann::ordered_json out = {{"specialization", one.spelling()},
                                  {"key", key.hex()},
                                  {"compiler", identity},
                                  {"hit", found.has_value()}};
    if (found) {
      out["found"] = json_of(layer->setting);
      out["found"].update({{"compiler", found->compiler},
                           {"bytes", found->payload.size()},
                           {"warnings", warning_count(found->log)},
                           {"log", found->log}});
    } else {
      out["miss"] = miss_as_json(reason);
    }
    print_json(out);
    return found ? 0 : 1;
  }
  print(one.spelling());
  print(cat("key ", key.hex(), ", compiler ", identity.empty() ? "not found" : identity));
  if (found) {
    print(cat("hit: ", found->payload.size(), " bytes by ", found->compiler, " in ",
              root_name(layer->setting)));
    if (!found->log.empty()) print_log(*found, 1);
    return 0;
  }
  print(cat("miss in ", runtime->cache_state()));
  print_miss(reason, runtime->cache_state());
  return 1;
}

}  // namespace

Command add_cache_explain(CLI::App& cache) {
  auto* command = cache.add_subcommand("explain", "Why a specialization is a hit or a miss");
  auto options = std::make_shared<ExplainArguments>();
  command->add_option("spelling", options->words, "TEMPLATE NAME=VALUE ... @ TARGET")->required();
  add_own(*command, options->own);
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return explain(*options); }};
}

}  // namespace diecast::tool
