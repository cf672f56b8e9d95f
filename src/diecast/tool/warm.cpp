// diecast warm MANIFEST...: everything the manifests name, into the cache; no GPU is touched.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/command.h>
#include <diecast/tool/compile_limits.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/outcomes.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

struct WarmArguments {
  std::vector<std::string> manifests, traces;
  std::vector<std::string> targets;
  Own own;
  int jobs = 0;
  CompileLimits limits;
  bool expect_no_new = false;
  bool json = false;
};

struct Count {
  std::size_t compiled = 0, failed = 0, not_buildable = 0;
};

Count count_of(std::span<const WarmOutcome> outcomes) {
  Count out;
  for (const WarmOutcome& outcome : outcomes) {
    if (outcome.resolved) out.compiled += outcome.resolved->origin == Resolved::Origin::compiled;
    if (!outcome.error) continue;
    // Named, not failed: another compiler can build it.
    const bool not_buildable = outcome.error->code == ErrorCode::target_not_supported;
    ++(not_buildable ? out.not_buildable : out.failed);
  }
  return out;
}

// A root that is not there yet is an empty one: everything would be compiled.
Result<void> check_roots(Runtime& runtime) {
  const auto roots = roots_of(runtime);
  if (roots || roots.error().code == ErrorCode::file_not_found) return {};
  return roots.error();
}

// Whether warming would compile anything. Nothing is compiled or written here, so that it holds of
// what is shipped read-only too.
Result<int> expect_no_new(Runtime& runtime, std::span<const Specialization> wanted, bool json) {
  DIECAST_CHECK(check_roots(runtime));
  std::vector<std::string> missing;
  for (const Specialization& one : wanted) {
    DIECAST_TRY(const bool held, runtime.holds(one));
    if (held) continue;
    const auto compiler = runtime.compiler(one.target());
    const bool buildable = !compiler || (*compiler)->accepts(one.target());
    if (buildable) missing.push_back(one.spelling());
  }
  if (json) {
    print_json({{"wanted", wanted.size()}, {"missing", missing}});
  } else {
    for (const std::string& spelling : missing) print(cat("missing: ", spelling));
  }
  if (missing.empty()) {
    if (!json) print(cat(wanted.size(), " wanted, nothing new; in ", runtime.cache_state()));
    return 0;
  }
  return Error{
      ErrorCode::not_cached,
      cat("--expect-no-new: ", missing.size(), " of ", wanted.size(), " would have to be compiled"),
      "warm this cache with the same diecast and compiler before this step; `diecast "
      "cache explain` says why one is a miss"};
}

// What was published may have gone again: the root has a limit. Asked of a runtime that has nothing
// in memory.
Result<void> check_not_removed(Runtime& runtime, const RuntimeOptions& with, const Own& own,
                               std::span<const WarmOutcome> outcomes) {
  if (runtime.counters().pruned == 0) return {};
  RuntimeOptions looking = with;
  looking.cache_policy = CachePolicy::read_only;
  looking.trace.clear();
  DIECAST_TRY(const auto later, Runtime::create(looking));
  DIECAST_CHECK(add_own_to(*later, own));
  std::size_t resolved = 0, removed = 0;
  for (const WarmOutcome& outcome : outcomes) {
    if (!outcome.resolved) continue;
    DIECAST_TRY(const bool held, later->holds(*outcome.specialization));
    ++resolved;
    removed += !held;
  }
  if (removed == 0) return {};
  return Error{ErrorCode::not_cached,
               cat(removed, " of ", resolved, " kernels are no longer in ", runtime.cache_state(),
                   ": it is limited to ", human_bytes(with.cache_bytes),
                   ", and the least recently used were removed"),
               "raise DIECAST_CACHE_BYTES (0: no limit) and warm again, or name fewer kernels"};
}

Result<int> run(const WarmArguments& options) {
  std::vector<std::string> manifests = options.manifests;
  manifests.insert(manifests.end(), options.traces.begin(), options.traces.end());
  RuntimeOptions with = RuntimeOptions::from_environment();
  if (options.expect_no_new && with.cache_policy != CachePolicy::off)
    with.cache_policy = CachePolicy::read_only;  // nor is a root made
  with.isolated = options.limits.isolated();
  DIECAST_TRY(const auto runtime, open_runtime(with));
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(const auto targets, parse_targets(options.targets));
  DIECAST_TRY(const auto wanted, read_manifests(*runtime, manifests, targets));
  if (options.expect_no_new) return expect_no_new(*runtime, wanted, options.json);
  DIECAST_CHECK(writable_of(*runtime));
  const auto outcomes = warm_with_progress(*runtime, wanted, options.jobs, "warm", options.json);
  if (!options.json) tell_errors(outcomes);
  const Count count = count_of(outcomes);
  if (options.json) {
    print_outcomes(*runtime, outcomes, true);
  } else {
    print_by_target(outcomes);
    print(cat(outcomes.size(), " wanted: ", count.compiled, " compiled, ",
              outcomes.size() - count.compiled - count.failed - count.not_buildable, " found, ",
              count.failed, " failed, ", count.not_buildable, " not buildable here; ",
              runtime->counters().published, " published in ", runtime->cache_state()));
  }
  DIECAST_CHECK(check_kept(*runtime));
  DIECAST_CHECK(check_not_removed(*runtime, with, options.own, outcomes));
  return count.failed == 0 ? 0 : 1;
}

}  // namespace

Command add_warm(CLI::App& app) {
  auto* command =
      app.add_subcommand("warm", "Compile the kernels that manifests name into the cache");
  auto options = std::make_shared<WarmArguments>();
  command->add_option("manifest", options->manifests,
                      "Files of ops and spellings, such as cache/manifests/nvfp4.txt");
  command->add_option("--from", options->traces, "The same; what DIECAST_TRACE wrote is one")
      ->allow_extra_args(false);
  command->add_option("--target", options->targets, "Targets instead of the manifests'")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_own(*command, options->own);
  command->add_option("--jobs", options->jobs, "Compiles at a time (0: one a core)")
      ->check(CLI::Range(0, 1024));
  options->limits.add_to(*command);
  command->add_flag("--expect-no-new", options->expect_no_new,
                    "Compile nothing: fail if anything would have to be");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return run(*options); },
          [options] {
            return wants_manifests(!options->manifests.empty() || !options->traces.empty());
          }};
}

}  // namespace diecast::tool
