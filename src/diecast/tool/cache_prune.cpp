// diecast cache prune|clear: making room.
#include <diecast/base/text.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

namespace diecast::tool {
namespace {

nlohmann::ordered_json as_json(const PruneResult& done, const std::string& root, bool dry_run) {
  return {{"root", root},
          {"kind", "rw"},
          {"entries", done.entries},
          {"bytes", done.bytes},
          {"dry_run", dry_run},
          {"removed", done.removed},
          {"removed_bytes", done.removed_bytes},
          {"temporaries", done.temporaries},
          {"kept", done.kept},
          {"young", done.young},
          {"busy", done.busy},
          {"finished", done.finished}};
}

std::string as_line(const PruneResult& done, const std::string& root, bool dry_run) {
  return cat(root, ": ", done.entries, " entries, ", human_bytes(done.bytes), "; ",
             dry_run ? "would remove " : "removed ", done.removed, " (",
             human_bytes(done.removed_bytes), ")",
             done.temporaries == 0 ? "" : cat(" and ", done.temporaries, " temporaries"),
             done.finished ? "" : "; more is left for the next time",
             done.young == 0 ? "" : cat("; ", done.young, " stay for now: they are new"));
}

// Of 0 days a second: a limit of 0 would be none.
std::chrono::seconds seconds_of(double days) {
  return std::chrono::seconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(days * 86400)));
}

Result<int> report(const PruneResult& done, const DiskCache& cache, bool dry_run, bool json) {
  if (json) print_json(as_json(done, cache.root(), dry_run));
  if (!json) print(as_line(done, cache.root(), dry_run));
  if (done.kept == 0) return 0;
  return Error{
      ErrorCode::io_error, cat(done.kept, " entries could not be removed from ", cache.root()),
      cat("look at the owner and the permissions of the folders in ", cache.root(), "/v1")};
}

// A collector that is at it goes by limits of its own, and ends after two seconds unless a person
// has started it: it is waited for.
Result<PruneResult> once_free(const DiskCache& root,
                              const std::function<Result<PruneResult>()>& collect) {
  constexpr std::chrono::milliseconds kPause{50};
  for (int tries = 0; tries < 100; ++tries) {
    DIECAST_TRY(const PruneResult done, collect());
    if (!done.busy) return done;
    std::this_thread::sleep_for(kPause);
  }
  return Error{ErrorCode::timed_out,
               cat("nothing was removed: another process is collecting ", root.root()),
               "run it again once that `diecast cache prune` or `clear` has ended"};
}

}  // namespace

Command add_cache_prune(CLI::App& cache) {
  struct Options {
    std::optional<std::uint64_t> bytes;
    std::optional<double> days;
    bool dry_run = false, json = false;
  };
  auto* command = cache.add_subcommand("prune", "Remove what was least recently used");
  auto options = std::make_shared<Options>();
  command
      ->add_option("--max-bytes", options->bytes,
                   "Keep at most (else DIECAST_CACHE_BYTES; 0: no limit)")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative());
  command->add_option("--unused-days", options->days, "Remove what was not used for longer")
      ->check(between(0.0, 36500.0));
  command->add_flag("--dry-run", options->dry_run, "Only say what would go");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options]() -> Result<int> {
            const auto with = RuntimeOptions::from_environment();
            DIECAST_TRY(const auto runtime, open_runtime(with));
            DIECAST_TRY(DiskCache* const root, writable_of(*runtime));
            PruneLimits limits;
            limits.bytes = options->bytes.value_or(with.cache_bytes);
            if (options->days) limits.unused = seconds_of(*options->days);
            limits.most = SIZE_MAX;
            limits.time = std::chrono::hours(1);
            limits.dry_run = options->dry_run;
            DIECAST_TRY(const PruneResult done,
                        once_free(*root, [&] { return root->prune(limits); }));
            return report(done, *root, options->dry_run, options->json);
          }};
}

Command add_cache_clear(CLI::App& cache) {
  auto* command = cache.add_subcommand("clear", "Remove every entry of the writable root");
  struct Options {
    std::string compiler;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("--compiler", options->compiler,
                      "Only those of this compiler (`cache stats`)");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options]() -> Result<int> {
            DIECAST_TRY(const auto runtime, open_runtime());
            DIECAST_TRY(DiskCache* const root, writable_of(*runtime));
            DIECAST_TRY(const PruneResult done,
                        once_free(*root, [&] { return root->clear(options->compiler); }));
            if (!options->compiler.empty() && done.entries == 0 && !options->json)
              print(cat("note: nothing is of the compiler ", quote(options->compiler),
                        "; `diecast cache stats` names those that it has"));
            return report(done, *root, false, options->json);
          }};
}

}  // namespace diecast::tool
