// Tables of artifacts; see outcomes.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/compile/log.h>
#include <diecast/ops/expand_ops.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/outcomes.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace diecast::tool {

Result<std::vector<Target>> parse_targets(const std::vector<std::string>& words) {
  std::vector<Target> targets;
  for (const std::string& word : words) {
    DIECAST_TRY(targets.emplace_back(), Target::parse(word));
  }
  return targets;
}

Result<void> wants_manifests(bool named) {
  if (named) return {};
  return Error{ErrorCode::invalid_argument, "no manifest was named",
               "name a file such as cache/manifests/nvfp4.txt (share/diecast/cache/manifests of "
               "an installed diecast), or what DIECAST_TRACE wrote"};
}

Result<std::vector<Specialization>> read_manifests(Runtime& runtime,
                                                   const std::vector<std::string>& paths,
                                                   std::span<const Target> targets) {
  constexpr std::uint64_t kManifestLimit = 64u << 20;
  std::vector<Specialization> wanted;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, kManifestLimit));
    DIECAST_TRY(auto expanded,
                expand_manifest(runtime, file_text(bytes), path, targets, expand_op));
    for (Specialization& one : expanded) {
      if (seen.insert(one.spelling()).second) wanted.push_back(std::move(one));
    }
  }
  return wanted;
}

std::vector<WarmOutcome> warm_with_progress(Runtime& runtime,
                                            std::span<const Specialization> wanted, int jobs,
                                            std::string title, bool quiet) {
  Progress progress(std::move(title), quiet);
  return warm(runtime, wanted,
              {jobs, [&](const WarmOutcome& outcome, std::size_t done, std::size_t total) {
                 progress.update(done, total, outcome.specialization->spelling());
               }});
}

namespace {

std::string_view origin_name(Resolved::Origin origin) {
  switch (origin) {
    case Resolved::Origin::memory:
      return "found in memory";
    case Resolved::Origin::disk:
      return "found on disk";
    case Resolved::Origin::compiled:
      return "compiled";
  }
  return "";
}

nlohmann::ordered_json counters_of(const DiskCache& cache) {
  const CacheStatistics c = cache.statistics();
  nlohmann::ordered_json faults = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < c.faults.size(); ++i) {
    if (c.faults[i] != 0)
      faults[std::string(entry_fault_name(static_cast<EntryFault>(i)))] = c.faults[i];
  }
  return {{"hits", c.hits},
          {"misses", c.misses},
          {"rejected", c.rejected},
          {"faults", faults},
          {"refused", c.refused},
          {"publishes", c.publishes},
          {"replaced", c.replaced},
          {"already_there", c.already_there},
          {"publish_failures", c.publish_failures},
          {"publishes_skipped", c.publishes_skipped},
          {"lock_waits", c.lock_waits},
          {"lock_timeouts", c.lock_timeouts},
          {"lock_failures", c.lock_failures}};
}

// Everything that this process has counted.
nlohmann::ordered_json counters_of(const Runtime& runtime) {
  const RuntimeCounters c = runtime.counters();
  nlohmann::ordered_json roots = nlohmann::ordered_json::array();
  if (runtime.cache() != nullptr) {
    for (const CacheRoots::Layer& layer : runtime.cache()->layers()) {
      nlohmann::ordered_json root = json_of(layer.setting);
      root.update(layer.directory ? counters_of(*layer.directory)
                                  : nlohmann::ordered_json{{"hits", layer.bundle->hits()},
                                                           {"rejected", layer.bundle->rejected()}});
      roots.push_back(std::move(root));
    }
  }
  return {{"rendered", c.rendered},   {"memory_hits", c.memory_hits},
          {"disk_hits", c.disk_hits}, {"compiled", c.compiled},
          {"failed", c.failed},       {"published", c.published},
          {"loaded", c.loaded},       {"waited", c.waited},
          {"late", c.late},           {"refused", c.refused},
          {"pruned", c.pruned},       {"ignored", c.ignored},
          {"degraded", c.degraded},   {"roots", roots}};
}

}  // namespace

namespace {

// What compilers said, each text once.
void tell_logs(std::span<const WarmOutcome> outcomes) {
  std::map<std::string_view, std::vector<const Artifact*>> by_text;
  for (const WarmOutcome& outcome : outcomes)
    if (outcome.resolved && !outcome.resolved->artifact->log.empty())
      by_text[outcome.resolved->artifact->log].push_back(outcome.resolved->artifact.get());
  for (const auto& [text, artifacts] : by_text) print_log(*artifacts[0], artifacts.size());
}

}  // namespace

void print_outcomes(const Runtime& runtime, std::span<const WarmOutcome> outcomes, bool json) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array(), failed = out;
  Table table({"bytes", "registers", "spills", "ms", "", "specialization"});
  for (const WarmOutcome& outcome : outcomes) {
    if (outcome.error) {
      nlohmann::ordered_json one = {{"specialization", outcome.specialization->spelling()}};
      one.update(json_of(*outcome.error));
      failed.push_back(std::move(one));
    }
    if (!outcome.resolved) continue;
    const Artifact& a = *outcome.resolved->artifact;
    const std::string origin(origin_name(outcome.resolved->origin));
    table.add({cat(a.payload.size()), cat(a.registers), cat(a.spill_bytes), fixed(a.compile_ms, 1),
               origin, a.spelling});
    out.push_back({{"specialization", a.spelling},
                   {"origin", origin},
                   {"bytes", a.payload.size()},
                   {"registers", a.registers},
                   {"spill_bytes", a.spill_bytes},
                   {"compile_ms", a.compile_ms},
                   {"compiler", a.compiler},
                   {"warnings", warning_count(a.log)},
                   {"log", a.log}});
  }
  if (json) {
    print_json({{"specializations", out}, {"failed", failed}, {"counters", counters_of(runtime)}});
  } else {
    table.print();
    tell_logs(outcomes);
  }
}

void print_log(const Artifact& artifact, std::size_t kernels) {
  const int count = warning_count(artifact.log);
  print(cat("\n", count, count == 1 ? " warning" : " warnings", " for ", artifact.spelling,
            kernels > 1 ? cat(" and ", kernels - 1, " more") : ""));
  for (const std::string_view line : split(artifact.log, '\n')) print(cat("  ", line));
}

void tell_errors(std::span<const WarmOutcome> outcomes) {
  constexpr std::size_t kNamed = 5;
  std::vector<std::pair<Error, std::vector<std::string>>> failed;
  for (const WarmOutcome& outcome : outcomes) {
    if (!outcome.error) continue;
    const std::string spelling = outcome.specialization->spelling();
    if (outcome.error->code == ErrorCode::target_not_supported) {
      print(cat("not built: ", spelling, ": ", outcome.error->what));
      continue;
    }
    auto known = std::ranges::find_if(
        failed, [&](const auto& one) { return one.first.message() == outcome.error->message(); });
    if (known == failed.end()) known = failed.insert(known, {*outcome.error, {}});
    known->second.push_back(spelling);
  }
  for (const auto& [error, spellings] : failed) {
    print_error(error);
    for (std::size_t i = 0; i < std::min(kNamed, spellings.size()); ++i)
      print(cat("failed: ", spellings[i]));
    if (spellings.size() > kNamed)
      print(cat("failed: ", spellings.size() - kNamed, " more (--json names them)"));
  }
}

void print_by_target(std::span<const WarmOutcome> outcomes) {
  struct Sum {
    int variants = 0, compiled = 0, registers = 0;
    std::size_t bytes = 0;
    int spills = 0;
    double ms = 0;
  };
  std::map<Target, Sum> sums;
  for (const WarmOutcome& outcome : outcomes) {
    if (!outcome.resolved) continue;
    const Artifact& a = *outcome.resolved->artifact;
    Sum& sum = sums[a.target];
    ++sum.variants;
    sum.compiled += outcome.resolved->origin == Resolved::Origin::compiled;
    sum.bytes += a.payload.size();
    sum.registers = std::max(sum.registers, a.registers);
    sum.spills += a.spill_bytes;
    sum.ms += a.compile_ms;
  }
  Table table({"target", "variants", "compiled now", "bytes", "registers at most", "spilled bytes",
               "ms a variant"});
  for (const auto& [target, sum] : sums) {
    table.add({target.name(), cat(sum.variants), cat(sum.compiled), cat(sum.bytes),
               cat(sum.registers), cat(sum.spills), fixed(sum.ms / sum.variants, 1)});
  }
  table.print();
}

}  // namespace diecast::tool
