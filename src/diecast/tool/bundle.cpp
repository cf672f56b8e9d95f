// diecast bundle create|export|import|verify: one file of kernels for images and model
// repositories.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/cache/bundle.h>
#include <diecast/cache/cache_directory.h>
#include <diecast/runtime/write_bundle.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/compile_limits.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/outcomes.h>
#include <diecast/tool/output_file.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

using Json = nlohmann::ordered_json;

struct BundleArguments {
  std::string file, sha256;
  std::vector<std::string> manifests, targets;
  Own own;
  int jobs = 0;
  CompileLimits limits;
  bool json = false;
};

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

// What a bundle is, as `stats` spells it, with the pin.
Json as_json(const std::string& path, std::size_t entries, std::uint64_t bytes,
             const Sha256Digest& digest) {
  Json out = json_of(CacheRootSetting{CacheRootSetting::Kind::bundle, absolute(path), {}});
  out.update({{"entries", entries}, {"bytes", bytes}, {"sha256", hex(digest)}});
  return out;
}

// `damaged`: entries that are not in it, `left_out`: roots that could not be read; create has none.
Result<int> write(const BundleArguments& options, std::vector<BundleEntry> entries,
                  const Json& damaged = Json::array(), const Json& left_out = {}) {
  // Roots come in the order of lookup.
  DIECAST_TRY(const auto written, write_bundle(options.file, std::move(entries)));
  if (options.json) {
    Json out = as_json(options.file, written.entries, written.bytes, written.digest);
    out["damaged"] = damaged;
    if (!left_out.is_null()) out["left_out"] = left_out;
    print_json(out);
  } else {
    if (!left_out.empty())
      print(cat(counted(left_out.size(), "root"), " left out: `diecast cache path` says why"));
    print(cat(options.file, ": ", counted(written.entries, "kernel"), ", ",
              human_bytes(written.bytes)));
    print(cat("sha256 ", hex(written.digest)));
    print(cat("use it with DIECAST_CACHE=bundle:PATH, or pinned with bundle:PATH#sha256=",
              hex(written.digest)));
  }
  return damaged.empty() && left_out.empty() ? 0 : 1;
}

// Exactly what the manifests name, compiled where the cache lacks it.
Result<int> create(const BundleArguments& options) {
  DIECAST_CHECK(check_no_input(options.file, options.own.files()));
  DIECAST_CHECK(check_no_input(options.file, options.manifests));
  RuntimeOptions with = RuntimeOptions::from_environment();
  with.isolated = options.limits.isolated();
  DIECAST_TRY(const auto runtime, open_runtime(with));
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(const auto targets, parse_targets(options.targets));
  DIECAST_TRY(const auto wanted, read_manifests(*runtime, options.manifests, targets));
  DIECAST_CHECK(AtomicFile::create(system_files(), options.file));  // before the work, not after it
  const auto outcomes = warm_with_progress(*runtime, wanted, options.jobs, "bundle", options.json);
  DIECAST_TRY(auto entries, bundle_entries(*runtime, outcomes));
  return write(options, std::move(entries));
}

// Everything that the roots hold now; what is damaged, and a root that cannot be read, is left out
// and said.
Result<int> export_all(const BundleArguments& options) {
  DIECAST_TRY(const auto runtime, open_runtime_to_look());
  DIECAST_TRY(CacheRoots* const roots, roots_of(*runtime));
  DIECAST_TRY(const auto targets, parse_targets(options.targets));
  std::vector<BundleEntry> entries;
  Json damaged = Json::array();
  const auto take = [&](const FoundEntry& entry) {
    const Artifact& artifact = entry.decoded.artifact;
    if (entry.decoded.fault != EntryFault::none) {
      if (!options.json) print(damage_line(entry));
      damaged.push_back(json_of(entry));
    } else if (targets.empty() || std::ranges::find(targets, artifact.target) != targets.end()) {
      entries.push_back({xxh3_128(entry_record(entry.bytes)), entry.compiler,
                         Bytes(entry.bytes.begin(), entry.bytes.end())});
    }
  };
  for (const CacheRoots::Layer& layer : roots->layers()) DIECAST_CHECK(visit_entries(layer, take));
  if (entries.empty()) {
    return Error{ErrorCode::not_cached,
                 cat("nothing to export: ", roots->description(), " has no entry",
                     targets.empty() ? "" : cat(" for ", join(options.targets, ", "))),
                 "fill it with `diecast warm`; `diecast cache ls` shows what it has"};
  }
  return write(options, std::move(entries), damaged, left_out_of(*runtime));
}

Result<std::unique_ptr<Bundle>> open_bundle(const BundleArguments& options) {
  std::optional<Sha256Digest> pin;
  if (!options.sha256.empty()) {
    pin = parse_sha256(options.sha256);
    if (!pin) {
      return Error{ErrorCode::invalid_argument, "--sha256 takes 64 hexadecimal digits",
                   "give what `sha256sum FILE` prints"};
    }
  }
  return Bundle::open(absolute(options.file), pin);
}

Result<int> verify(const BundleArguments& options) {
  DIECAST_TRY(const auto bundle, open_bundle(options));
  DIECAST_TRY(const Sha256Digest digest, bundle->verify());
  if (bundle->size() == 0) {
    return Error{ErrorCode::not_cached, cat("the bundle ", quote(bundle->path()), " has no kernel"),
                 "make it anew with `diecast bundle create`"};
  }
  if (options.json) {
    print_json(as_json(bundle->path(), bundle->size(), bundle->bytes(), digest));
    return 0;
  }
  print(cat(bundle->path(), ": ", counted(bundle->size(), "kernel"), ", ",
            human_bytes(bundle->bytes()), ", good"));
  print(cat("sha256 ", hex(digest)));
  return 0;
}

// Entry by entry: killed midway it has imported a part, and run again it does the rest.
Result<int> import_all(const BundleArguments& options) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_CHECK(writable_of(*runtime));
  CacheRoots& roots = *runtime->cache();
  DIECAST_TRY(const auto bundle, open_bundle(options));
  Json damaged = Json::array();
  std::uint64_t already_there = 0, failed = 0;
  visit_entries(*bundle, [&](const FoundEntry& entry) {
    if (entry.decoded.fault != EntryFault::none) {
      if (!options.json) print(damage_line(entry));
      damaged.push_back(json_of(entry));
      return;
    }
    const ArtifactKey key = key_of(entry_record(entry.bytes));
    // What is damaged there is replaced.
    if (roots.writable()->find(key, entry.compiler)) {
      ++already_there;
    } else if (roots.publish(key, entry.decoded.artifact) == nullptr) {
      ++failed;
    }
  });
  std::uint64_t imported = 0;
  for (const CacheRoots::Layer& layer : roots.layers()) {
    if (!layer.directory) continue;
    imported += layer.directory->statistics().publishes;
    already_there += layer.directory->statistics().already_there;
  }
  DiskCache* const root = roots.writable();
  if (options.json) {
    Json out = {{"root", root->root()},           {"kind", "rw"},       {"imported", imported},
                {"already_there", already_there}, {"damaged", damaged}, {"not_written", failed}};
    print_json(out);
  } else {
    print(cat(root->root(), ": ", imported, " imported, ", already_there, " already there, ",
              damaged.size(), " damaged, ", failed, " not written"));
  }
  if (failed > 0) return not_kept(*root, failed);
  return damaged.empty() ? 0 : 1;
}

}  // namespace

Command add_bundle(CLI::App& app) {
  auto* command =
      app.add_subcommand("bundle", "Kernels in one file, to ship; it is executable code");
  command->require_subcommand(1);
  auto options = std::make_shared<BundleArguments>();
  auto* make =
      command->add_subcommand("create", "Pack what manifests name; compiles what no root has");
  make->add_option("manifest,--from", options->manifests, "Manifests, or what DIECAST_TRACE wrote");
  make->add_option("--jobs", options->jobs, "Compiles at a time (0: one a core)")
      ->check(CLI::Range(0, 1024));
  add_own(*make, options->own);
  options->limits.add_to(*make);
  auto* out = command->add_subcommand("export", "Pack everything in the cache roots");
  for (const auto& [writing, targets] : {std::pair(make, "Targets instead of the manifests'"),
                                         std::pair(out, "These targets only")}) {
    writing->add_option("-o,--output", options->file, "The bundle to write")->required();
    writing->add_option("--target", options->targets, targets)
        ->delimiter(',')
        ->allow_extra_args(false);
  }
  auto* in = command->add_subcommand("import", "Unpack into the writable cache root");
  auto* check = command->add_subcommand("verify", "Read and check every byte");
  for (auto* reading : {in, check}) {
    reading->add_option("bundle", options->file, "The bundle")->required();
    reading->add_option("--sha256", options->sha256, "Refuse it unless this is its SHA-256");
  }
  for (auto* one : {make, out, in, check}) one->add_flag("--json", options->json, "For programs");
  return {command,
          [=] {
            return make->parsed()  ? create(*options)
                   : out->parsed() ? export_all(*options)
                   : in->parsed()  ? import_all(*options)
                                   : verify(*options);
          },
          [=] { return wants_manifests(!make->parsed() || !options->manifests.empty()); }};
}

}  // namespace diecast::tool
